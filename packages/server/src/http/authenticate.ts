import { createHash, timingSafeEqual } from "node:crypto";
import { INCLUDED_ROLES, type Role } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Db, type ProblemError, problem, typeId, type Uuid, type WorkspaceId } from "#kernel";
import { checkSameOrigin, type PageAuthenticator, type PageScope, pageScopeOf } from "./page-requests.ts";
import type { Principal } from "./principal.ts";

/** What a route requires: a key with at least this role, or the operator's token. A route without it requires nothing. */
export type Access = Role | "operator";

export interface Authenticator {
  /** Null when there is no dashboard, or none on this listener. */
  readonly pages?: PageAuthenticator | null;
  /** Returns a promise unless the principal is cached. */
  readonly findPrincipal: (key: string) => Promise<Principal | null> | Principal | null;
  /** Locks a key until the transaction ends: it cannot be revoked before. Returns false if it is no longer valid. */
  readonly lockKey?: (tx: Db, workspaceId: WorkspaceId, keyId: Uuid) => Promise<boolean>;
  /** Null closes the operator API. */
  readonly operatorToken: string | null;
}

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
    /** When it was authenticated, by `performance.now()`. */
    authenticatedMs: number;
  }
  interface FastifyContextConfig {
    access?: Access;
  }
}

/**
 * Finds out who sent a request: by its cookie if a page of the dashboard sent it to the API, otherwise by its bearer token. Returns
 * undefined when the sender is known immediately.
 *
 * Throws UNAUTHORIZED, FORBIDDEN or NOT_FOUND, or returns a promise that rejects with it.
 */
export function authenticate(authenticator: Authenticator, request: FastifyRequest): Promise<void> | undefined {
  const { pages } = authenticator;
  const scope = pages ? pageScopeOf(request) : null;
  if (pages && (scope || request.route.config.page)) checkSameOrigin(request, pages.publicOrigin);
  return pages && scope ? authenticatePage(pages, request, scope) : authenticateBearer(authenticator, request);
}

async function authenticatePage(pages: PageAuthenticator, request: FastifyRequest, scope: PageScope): Promise<void> {
  const { config } = request.route;
  const { person, principal } = await pages.authenticate(request, scope);
  request.person = person;
  request.principal = principal;
  // A page reaches only routes of the API, and routes of the operator API only with that scope.
  if (!request.isUnknown && (config.access === undefined || (config.access === "operator") !== (scope.kind === "operator"))) {
    throw problem("FORBIDDEN", {}, { message: "Pages cannot use this route." });
  }
}

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Authenticates a request if its route requires it. Source: specification, Authentication.
 *
 * Throws UNAUTHORIZED, or returns a promise that rejects with it.
 */
function authenticateBearer({ operatorToken, findPrincipal }: Authenticator, request: FastifyRequest): Promise<void> | undefined {
  const { access } = request.route.config;
  if (access === undefined) return undefined;
  const token = tokenOf(request);
  if (token === undefined) throw unauthorized(access === "operator" ? OPERATOR : undefined);
  if (access === "operator") {
    if (operatorToken === null || !sameSecret(token, operatorToken)) throw unauthorized(OPERATOR);
    return undefined;
  }
  const found = findPrincipal(token);
  if (found instanceof Promise) return found.then((principal) => identifyAs(request, principal));
  identifyAs(request, found);
  return undefined;
}

function identifyAs(request: FastifyRequest, principal: Principal | null): void {
  if (!principal) throw unauthorized();
  request.principal = principal;
}

/**
 * Authenticates a request that has taken long, or whose stream is still open, again, and checks its role.
 *
 * @throws UNAUTHORIZED, FORBIDDEN or NOT_FOUND, as for a new request
 */
export async function reauthenticate(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  await authenticate(authenticator, request);
  checkRole(request);
}

/**
 * Authenticates a request again, in the transaction of a change that gives somebody rights, and locks the person or key that sent it. A
 * change that ends the sender's rights takes the same locks: either it sees the rights that the sender has given, or this change is
 * refused. Call it before the transaction locks anything but people.
 *
 * @throws UNAUTHORIZED, FORBIDDEN or NOT_FOUND, as for a new request
 */
export async function lockAccess({ pages, lockKey }: Authenticator, request: FastifyRequest, tx: Db): Promise<void> {
  const scope = pages ? pageScopeOf(request) : null;
  if (pages && scope) {
    Object.assign(request, await pages.hold(tx, request, scope));
    checkRole(request);
    return;
  }
  const { principal } = request;
  if (principal?.keyId && lockKey && !(await lockKey(tx, principal.workspaceId, principal.keyId))) throw unauthorized();
}

/** Authenticates a request for an unknown route if it has a valid key, so that it counts against the rate limit. */
export async function identify(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const token = tokenOf(request);
  if (token !== undefined) request.principal = await authenticator.findPrincipal(token);
}

const CONFIRM = "Confirm that it is you: POST /dashboard/auth/confirm with your password or a code.";

/**
 * Checks that the sender of an authenticated request has the role that its route requires, and has confirmed who they are where it says so.
 *
 * @throws FORBIDDEN
 */
export function checkRole(request: FastifyRequest): void {
  const { principal, person, route } = request;
  const { access, confirm } = route.config;
  if (principal && access !== undefined && access !== "operator" && !hasRole(principal, access)) {
    const message = `${person ? "Your role" : "The role of the key"} is ${principal.role}, and this needs ${access}.`;
    throw problem("FORBIDDEN", { role: principal.role, needs: access }, { message });
  }
  if (confirm) requireConfirmedPerson(request);
}

/**
 * Requires confirmation, for routes where only some requests need it (`confirm` is for all requests of a route).
 *
 * @throws FORBIDDEN for a person who has not confirmed lately who they are
 */
export function requireConfirmedPerson({ person }: FastifyRequest): void {
  if (person && !person.confirmed) throw problem("FORBIDDEN", { confirm: true }, { message: CONFIRM });
}

/** Whether a key may do what that role may. */
export const hasRole = ({ role }: Pick<Principal, "role">, needed: Role): boolean => INCLUDED_ROLES[role].includes(needed);

/** The principal of an authenticated request. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error("The route does not require a workspace key.");
  return request.principal;
}

/** The workspace of an authenticated request. */
export const workspaceOf = (request: FastifyRequest): WorkspaceId => principalOf(request).workspaceId;

/** The actor of an authenticated request, as the audit log names it: the id of its key, or of the person. */
export function actorOf(request: FastifyRequest): string {
  const { keyId, person } = principalOf(request);
  if (person) return typeId("usr", person.personId);
  if (keyId === null) throw new Error("A principal has neither a key nor a person.");
  return typeId("key", keyId);
}

/** The actor of a request to the operator API: the person, or `operator` for the operator's token. */
export const operatorActorOf = ({ person }: FastifyRequest): string => (person ? typeId("usr", person.personId) : "operator");

const tokenOf = (request: FastifyRequest): string | undefined => BEARER.exec(request.headers.authorization ?? "")?.[1];

const OPERATOR = "The operator's token is required. Send the value of TIDEMILL_ADMIN_TOKEN as a bearer token in Authorization.";

const unauthorized = (message?: string): ProblemError =>
  problem("UNAUTHORIZED", {}, { headers: { "WWW-Authenticate": "Bearer" }, ...(message && { message }) });

/** Compares secrets of any length in constant time. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
