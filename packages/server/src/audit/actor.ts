import type { FastifyRequest } from "fastify";
import { actorOf, workspaceOf } from "#http";
import type { WorkspaceId } from "#kernel";

/** The actor of a change in a workspace. */
export interface Actor {
  readonly workspaceId: WorkspaceId;
  /** The actor's id in the audit log: the id of an API key, `operator`, or `system`. */
  readonly actorId: string;
}

/** The API key that an authenticated request was sent with, as an actor in its workspace. */
export const requestActor = (request: FastifyRequest): Actor => ({ workspaceId: workspaceOf(request), actorId: actorOf(request) });
