import type { FastifyRequest } from "fastify";
import type { Database, EmitEvent, PersonId } from "#kernel";
import type { OwnKey } from "#vault";
import type { AdminContext } from "#workspaces";
import type { AccountLog } from "./account-log.ts";
import type { PublicUrl } from "./base-url.ts";
import type { Mailer } from "./mail.ts";
import type { Passwords } from "./password.ts";
import type { TokenCookie } from "./sessions/cookie.ts";
import type { KnownDevices } from "./sessions/known-devices.ts";
import type { Sessions } from "./sessions/sessions.ts";

/** What the functions of this folder need. */
export interface PeopleContext extends AdminContext {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly account: AccountLog;
  readonly devices: KnownDevices;
  /** Keeps the browser's request to the identity provider. */
  readonly stateCookie: TokenCookie;
  readonly publicUrl: PublicUrl;
  /** Encrypts secrets of authenticators. */
  readonly ownKey: OwnKey;
  /** Null when no mail is sent. */
  readonly mailer: Mailer | null;
  /** Whether strangers may make accounts and workspaces. */
  readonly signUpIsOpen: boolean;
  readonly clientAddress: (request: FastifyRequest) => string;
  readonly emit: EmitEvent;
  /** Called after a person's sessions or rights have changed: the streams that they have open must end on all nodes. */
  readonly onPersonChanged: (personId: PersonId) => void;
  /** Where this node can be reached by itself. */
  readonly nodeUrl: () => string;
}

/** The address of a page of the dashboard. */
export const pageUrl = ({ publicUrl, nodeUrl }: Pick<PeopleContext, "publicUrl" | "nodeUrl">, page: string): string =>
  `${publicUrl.base ?? nodeUrl()}/dashboard/${page}`;
