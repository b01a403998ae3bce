import type { Db, WorkspaceId } from "#kernel";
import { markLanesDeleted } from "#lanes";
import { removeOperations } from "#operations";
import { removeInvitations, removeMemberships } from "#people";
import { removeSchedules } from "#schedules";
import { removeSecrets } from "#vault";

/**
 * Deletes the operations, queues, schedules, secrets and members of a workspace that is being deleted. A background sweep removes its other
 * data.
 */
export async function emptyWorkspace(tx: Db, workspaceId: WorkspaceId): Promise<void> {
  // First, as nodes that execute operations lock them before lanes.
  await removeOperations(tx, workspaceId);
  await markLanesDeleted(tx, workspaceId);
  await removeSchedules(tx, workspaceId);
  await removeInvitations(tx, workspaceId);
  await removeMemberships(tx, workspaceId);
  await removeSecrets(tx, workspaceId);
}
