import type { Database, EmitEvent } from "#kernel";
import type { AdminContext } from "#workspaces";
import type { PublicUrl } from "./base-url.ts";
import type { SessionCookie } from "./cookie.ts";
import type { Passwords } from "./password.ts";
import type { Sessions } from "./sessions.ts";

/** What the functions of this folder need. */
export interface PeopleContext extends AdminContext {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly publicUrl: PublicUrl;
  readonly emit: EmitEvent;
  /** Where this node can be reached by itself. */
  readonly nodeUrl: () => string;
}

/** The address of a page of the dashboard. */
export const pageUrl = ({ publicUrl, nodeUrl }: Pick<PeopleContext, "publicUrl" | "nodeUrl">, page: string): string =>
  `${publicUrl.base ?? nodeUrl()}/dashboard/${page}`;
