import type { Principal } from "#http";
import type { Uuid, WorkspaceId } from "#kernel";

/** The holder of an admin's key, in a workspace of the same name that has no limits. */
export const principalOf = (key: string): Principal => ({
  keyId: key as Uuid,
  workspaceId: key as WorkspaceId,
  role: "admin",
  queues: null,
  workflows: null,
  plan: "enterprise",
  requestsPerMinute: null,
  executionsPerMonth: null,
});
