import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { PersonRole } from "@tidemill/contract";
import { typeId, type Uuid, uuidOf } from "#kernel";
import type { Reply } from "./ask.ts";
import { sendRaw } from "./raw-request.ts";
import type { Service } from "./service.ts";

/** The password of every person in tests. */
export const PASSWORD = "correct horse battery staple";
/** Its hash. To make one takes a core for a while. */
const PASSWORD_HASH = "$argon2id$v=19$m=19456,t=2,p=1$gU+dAiIQ6xklz3eHqmzurw$Fs2WLlNwIwPUIPPsI7YVbpaDuX1y2NBc32YLkUwVVWE";

/** What pages send with requests that may change something. */
const PAGE_HEADERS = { "x-tidemill-dashboard": "1", "sec-fetch-site": "same-origin" };

type Headers = Record<string, string>;

/** A browser that uses the dashboard of a node: it keeps the session's cookie. */
export class Browser {
  readonly #url: string;
  cookie: string;

  constructor(url: string, cookie = "") {
    this.#url = url;
    this.cookie = cookie;
  }

  /** Sends a request as a page does. A header that is empty is left out. */
  async send(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    const all: Headers = {
      ...(this.cookie !== "" && { cookie: this.cookie }),
      ...(method !== "GET" && PAGE_HEADERS),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
    const reply = await sendRaw(this.#url, {
      method,
      path,
      headers: { host: new URL(this.#url).host, ...sent },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const [cookie] = (reply.headers.get("set-cookie") ?? "").split(";");
    if (cookie) this.cookie = cookie.endsWith("=") ? "" : cookie;
    return reply;
  }

  /** A request to sign in or out, or about the person's own account. */
  auth(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send(method, `/dashboard/auth/${path}`, body, headers);
  }

  /** A request to the API for a workspace. */
  api(workspaceId: string, method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send(method, `/dashboard/api/${workspaceId}${path}`, body, headers);
  }

  /** A request to the operator API. */
  operate(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send(method, `/dashboard/api/admin/v1${path}`, body, headers);
  }
}

/** A person in tests, who is signed in. */
export interface TestPerson extends Browser {
  readonly id: string;
  readonly email: string;
}

interface NewTestPerson {
  /** Their role in the service's workspace. Null: they do not belong to it. */
  readonly role?: PersonRole | null;
  readonly operator?: boolean;
  /** Whether they have proven lately that it is them. */
  readonly confirmed?: boolean;
  /** Whether the address is theirs for sure. */
  readonly verified?: boolean;
}

/** Makes a person who is signed in, with the password `PASSWORD`. */
export async function newPerson(
  { database, node, workspaceId }: Pick<Service, "database" | "node" | "workspaceId">,
  { role = "admin", operator = false, confirmed = true, verified = true }: NewTestPerson = {},
): Promise<TestPerson> {
  const id = randomUUID() as Uuid;
  const email = `${id}@example.com`;
  await database.query(
    "insert into person (id, name, email, password_hash, operator, email_verified_at) values ($1, $2, $3, $4, $5, case when $6 then moment() end)",
    [id, "A person", email, PASSWORD_HASH, operator, verified],
  );
  if (role !== null) {
    const member = `insert into membership (workspace_id, person_id, role) values ($1, $2, $3)`;
    await database.query(member, [uuidOf("ws", workspaceId), id, role]);
  }
  const token = randomBytes(32).toString("base64url");
  await database.query(
    `insert into session (id, person_id, token_hash, credentials_version, signed_in_with, confirmed_until, expires_at)
     select $1, id, $2, credentials_version, 'password', case when $3 then moment() + interval '10 minutes' end, moment() + interval '30 days'
     from person where id = $4`,
    [randomUUID(), createHash("sha256").update(token).digest(), confirmed, id],
  );
  return Object.assign(new Browser(node.url, `tidemill_session=${token}`), { id: typeId("usr", id), email });
}
