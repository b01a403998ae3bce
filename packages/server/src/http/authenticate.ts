import { createHash, timingSafeEqual } from "node:crypto";
import { INCLUDED_ROLES, type Plan, type Role } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type ProblemError, problem, typeId, type Uuid, type WorkspaceId } from "#kernel";

/** The holder of a valid workspace key. Its plan and limits may be as old as the cache of keys allows (`find-principal.ts`). */
export interface Principal {
  readonly keyId: Uuid;
  readonly workspaceId: WorkspaceId;
  readonly role: Role;
  /** The queues that a key of role `worker` may serve. Null: all. */
  readonly queues: readonly string[] | null;
  readonly plan: Plan;
  /** Null means no limit, here and in `executionsPerMonth`. */
  readonly requestsPerMinute: number | null;
  readonly executionsPerMonth: number | null;
}

/** What a route requires: a key with at least this role, or the operator's token. A route without it requires nothing. */
export type Access = Role | "operator";

export interface Authenticator {
  readonly findPrincipal: (key: string) => Promise<Principal | null>;
  /** Null closes the operator API. */
  readonly operatorToken: string | null;
}

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    access?: Access;
  }
}

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Authenticates a request if its route requires it. Source: specification, Authentication.
 *
 * @throws UNAUTHORIZED
 */
export async function authenticate(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const { access } = request.routeOptions.config;
  if (access === undefined) return;
  const token = tokenOf(request);
  if (token === undefined) throw unauthorized(access === "operator" ? OPERATOR : undefined);
  if (access === "operator") {
    if (authenticator.operatorToken === null || !sameSecret(token, authenticator.operatorToken)) throw unauthorized(OPERATOR);
    return;
  }
  const principal = await authenticator.findPrincipal(token);
  if (!principal) throw unauthorized();
  request.principal = principal;
}

/** Authenticates a request for an unknown route if it has a valid key, so that it counts against the rate limit. */
export async function identify(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const token = tokenOf(request);
  if (token !== undefined) request.principal = await authenticator.findPrincipal(token);
}

/**
 * Checks that the key of an authenticated request has the role that its route requires.
 *
 * @throws FORBIDDEN
 */
export function checkRole({ principal, routeOptions }: FastifyRequest): void {
  const { access } = routeOptions.config;
  if (!principal || access === undefined || access === "operator") return;
  if (!hasRole(principal, access)) throw problem("FORBIDDEN", { role: principal.role, needs: access });
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

/** The actor of an authenticated request, as the audit log names it: the id of its key. */
export const actorOf = (request: FastifyRequest): string => typeId("key", principalOf(request).keyId);

const tokenOf = (request: FastifyRequest): string | undefined => BEARER.exec(request.headers.authorization ?? "")?.[1];

const OPERATOR = "The operator's token is required. Send the value of TIDEMILL_ADMIN_TOKEN as a bearer token in Authorization.";

const unauthorized = (message?: string): ProblemError =>
  problem("UNAUTHORIZED", {}, { headers: { "WWW-Authenticate": "Bearer" }, ...(message && { message }) });

/** Compares secrets of any length in constant time. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
