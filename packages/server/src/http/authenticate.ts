import { createHash, timingSafeEqual } from "node:crypto";
import { type Plan, ROLES, type Role } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type ProblemError, problem, typeId, type Uuid, type WorkspaceId } from "#kernel";

/** Who calls: what a valid workspace key stands for. What it says of the workspace may be as old as a key is trusted. */
export interface Principal {
  readonly keyId: Uuid;
  readonly workspaceId: WorkspaceId;
  readonly role: Role;
  readonly plan: Plan;
  /** Null has no limit. */
  readonly requestsPerMinute: number | null;
  readonly executionsPerMonth: number | null;
}

/** What a route needs of its caller: a role of a workspace key, or the operator's token; nothing when left out. */
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
 * Finds out who sent a request, when its route asks for that. Source: specification, Authentication.
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

/** Finds out who asks for what is not there, if his key says: it counts against his rate all the same. */
export async function recognise(authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const token = tokenOf(request);
  if (token !== undefined) request.principal = await authenticator.findPrincipal(token);
}

/**
 * Lets an authenticated request pass when its key may do what its route does.
 *
 * @throws FORBIDDEN
 */
export function checkRole({ principal, routeOptions }: FastifyRequest): void {
  const { access } = routeOptions.config;
  if (!principal || access === undefined || access === "operator") return;
  // Roles are listed from most to least; each may do what those after it may.
  if (ROLES.indexOf(principal.role) > ROLES.indexOf(access)) throw problem("FORBIDDEN", { role: principal.role, needs: access });
}

/** Who sent an authenticated request. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error("The route does not ask for a workspace key.");
  return request.principal;
}

/** The workspace of an authenticated request. */
export const workspaceOf = (request: FastifyRequest): WorkspaceId => principalOf(request).workspaceId;

/** Who sent an authenticated request, as the audit log names him: the key's id. */
export const actorOf = (request: FastifyRequest): string => typeId("key", principalOf(request).keyId);

const tokenOf = (request: FastifyRequest): string | undefined => BEARER.exec(request.headers.authorization ?? "")?.[1];

const OPERATOR = "The operator's token is required: Authorization: Bearer, and what TIDEMILL_ADMIN_TOKEN is set to.";

const unauthorized = (message?: string): ProblemError =>
  problem("UNAUTHORIZED", {}, { headers: { "WWW-Authenticate": "Bearer" }, ...(message && { message }) });

/** Compares secrets of any length in constant time. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
