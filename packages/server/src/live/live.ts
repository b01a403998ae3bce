import type { Module } from "#http";
import type { PersonId, WorkspaceId } from "#kernel";
import { FollowedWorkspaces, type FollowedWorkspacesOptions, type LiveMessage } from "./followed-workspaces.ts";
import { reportRequests } from "./report-requests.ts";
import { mountLive } from "./routes.ts";

/** The streams of what changes in a workspace (`GET /v1/live`). */
export interface Live extends Module {
  /** A message from a node. */
  receive(message: LiveMessage): void;
  /** Messages may have been missed. */
  missed(): void;
  /** A key of the workspace was revoked, or something else about it changed. */
  workspaceChanged(workspaceId: WorkspaceId): void;
  /** Sessions or rights of a person have changed: their streams end. */
  personChanged(personId: PersonId): void;
  /** Ends the streams. */
  drain(): void;
}

export function createLive(options: FollowedWorkspacesOptions): Live {
  const followed = new FollowedWorkspaces(options);
  return {
    routes(api) {
      reportRequests(api, options.changes.report);
      mountLive(api, followed);
    },
    receive: (message) => followed.receive(message),
    missed: () => followed.missed(),
    workspaceChanged: (workspaceId) => followed.workspaceChanged(workspaceId),
    personChanged: (personId) => followed.personChanged(personId),
    drain: () => followed.close(),
  };
}
