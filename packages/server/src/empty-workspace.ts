import type { Db, WorkspaceId } from "#kernel";
import { markLanesDeleted } from "#lanes";
import { removeInvitations, removeMemberships } from "#people";
import { removeSchedules } from "#schedules";
import { removeSecrets } from "#vault";

/** Deletes the queues, schedules, secrets and members of a workspace that is being deleted. A background sweep removes its other data. */
export async function emptyWorkspace(tx: Db, workspaceId: WorkspaceId): Promise<void> {
  await markLanesDeleted(tx, workspaceId);
  await removeSchedules(tx, workspaceId);
  await removeInvitations(tx, workspaceId);
  await removeMemberships(tx, workspaceId);
  await removeSecrets(tx, workspaceId);
}
