import type { FastifyReply, FastifyRequest } from "fastify";
import type { Authenticated, PageAuthenticator, PageScope } from "#http";
import {
  type Database,
  type Db,
  type EmitEvent,
  notFound,
  type PersonId,
  problem,
  type Random,
  typeId,
  type Uuid,
  type UuidSource,
} from "#kernel";
import { readWorkspaceId } from "#workspaces";
import type { AccountLog } from "../account-log.ts";
import { lockMembers } from "../members/membership-store.ts";
import { keepPerson, lockPerson } from "../person-store.ts";
import type { TokenCookie } from "./cookie.ts";
import type { KnownDevices } from "./known-devices.ts";
import {
  deleteSessionByToken,
  findAccess,
  findSession,
  insertSession,
  replaceSession,
  type SessionRow,
  type SignedInWith,
} from "./session-store.ts";
import { hashNewToken, hashToken, makeToken } from "./token.ts";

/** A person whose credentials, in that version, were just proven. */
export interface ProvenPerson {
  readonly id: PersonId;
  readonly version: number;
}

export interface SessionsOptions {
  readonly database: Database;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly cookie: TokenCookie;
  readonly publicOrigin: string | null;
  readonly account: AccountLog;
  readonly devices: KnownDevices;
  readonly emit: EmitEvent;
  readonly onPersonChanged: (personId: PersonId) => void;
}

/** Sessions of people. They are read from the database for each request, so that all nodes know immediately when one has ended. */
export class Sessions implements PageAuthenticator {
  readonly publicOrigin: string | null;
  readonly #database: Database;
  readonly #random: Random;
  readonly #ids: UuidSource;
  readonly #cookie: TokenCookie;
  readonly #account: AccountLog;
  readonly #devices: KnownDevices;
  readonly #emit: EmitEvent;
  readonly #onPersonChanged: (personId: PersonId) => void;

  constructor({ database, random, ids, cookie, publicOrigin, account, devices, emit, onPersonChanged }: SessionsOptions) {
    this.#database = database;
    this.#random = random;
    this.#ids = ids;
    this.#cookie = cookie;
    this.#account = account;
    this.#devices = devices;
    this.#emit = emit;
    this.#onPersonChanged = onPersonChanged;
    this.publicOrigin = publicOrigin;
  }

  /** The session of a request, or null. */
  async find(request: FastifyRequest, db: Db = this.#database): Promise<SessionRow | null> {
    const hash = hashToken(this.#cookie.read(request) ?? "");
    // An open stream is authenticated repeatedly. That does not count as a use, or sessions of forgotten tabs would never end.
    return hash && findSession(db, hash, request.person === null);
  }

  /** @throws UNAUTHORIZED */
  async require(request: FastifyRequest, db: Db = this.#database): Promise<SessionRow> {
    const session = await this.find(request, db);
    if (!session) throw notSignedIn();
    return session;
  }

  authenticate(request: FastifyRequest, scope: PageScope): Promise<Authenticated> {
    return this.#authenticate(this.#database, request, scope);
  }

  async hold(tx: Db, request: FastifyRequest, scope: PageScope): Promise<Authenticated> {
    if (request.person) await lockPerson(tx, request.person.personId as PersonId);
    const workspaceId = scope.kind === "workspace" ? readWorkspaceId(scope.id) : null;
    if (workspaceId) await lockMembers(tx, workspaceId);
    return this.#authenticate(tx, request, scope);
  }

  async #authenticate(db: Db, request: FastifyRequest, scope: PageScope): Promise<Authenticated> {
    const session = await this.require(request, db);
    const person = { personId: session.personId, sessionId: session.sessionId, confirmed: session.confirmedUntil !== null };
    if (scope.kind === "operator") {
      if (!session.operator) throw problem("FORBIDDEN", {}, { message: "Only operators may do this." });
      return { person, principal: null };
    }
    const workspaceId = readWorkspaceId(scope.id);
    const access = workspaceId && (await findAccess(db, session, workspaceId));
    if (!access) throw notFound({ resource: "workspace", id: scope.id });
    return { person, principal: { keyId: null, queues: null, workflows: null, person, ...access } };
  }

  /**
   * Opens a session, and ends the one that the request came with. Returns null when the credentials have changed since they were proven.
   * `setCookie` sets the cookie after the transaction `db` has ended.
   */
  async open(db: Db, request: FastifyRequest, person: ProvenPerson, signedInWith: SignedInWith): Promise<OpenedSession | null> {
    const token = makeToken(this.#random);
    const from = this.#account.from(request);
    const opened = await insertSession(db, {
      id: this.#ids.next(),
      personId: person.id,
      hash: hashNewToken(token),
      version: person.version,
      signedInWith,
      ...from,
    });
    if (!opened) return null;
    const ended = await this.#endOld(db, request);
    const setDevice = await this.#devices.remember(db, request, person.id);
    await this.#account.record(db, request, person.id, "session.started", signedInWith);
    this.#emit("person_signed_in", { personId: typeId("usr", person.id), method: signedInWith, address: from.address });
    return {
      id: opened.id,
      setCookie: (reply) => {
        this.#cookie.set(reply, token);
        setDevice(reply);
        if (ended) this.#onPersonChanged(ended);
      },
    };
  }

  /** Replaces a session, because its person has just proven again who they are. */
  async renew(
    db: Db,
    old: Pick<SessionRow, "sessionId" | "personId" | "version">,
    /** The version of the person's credentials now. */
    version: number = old.version,
  ): Promise<OpenedSession | null> {
    await keepPerson(db, old.personId);
    const token = makeToken(this.#random);
    const opened = await replaceSession(db, old, { id: this.#ids.next(), hash: hashNewToken(token), version });
    return opened && { id: opened.id, setCookie: (reply) => this.#cookie.set(reply, token) };
  }

  /** Ends the session of a request. */
  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const ended = await this.#endOld(this.#database, request);
    this.#cookie.clear(reply);
    if (ended) this.#onPersonChanged(ended);
  }

  async #endOld(db: Db, request: FastifyRequest): Promise<PersonId | null> {
    const hash = hashToken(this.#cookie.read(request) ?? "");
    return (hash && (await deleteSessionByToken(db, hash))?.person_id) ?? null;
  }
}

export interface OpenedSession {
  readonly id: Uuid;
  readonly setCookie: (reply: FastifyReply) => void;
}

export const notSignedIn = () => problem("UNAUTHORIZED", {}, { message: "Sign in first." });
