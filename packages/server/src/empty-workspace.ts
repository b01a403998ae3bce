import type { Db, WorkspaceId } from "#kernel";
import { markLanesDeleted } from "#lanes";
import { removeSchedules } from "#schedules";
import { removeSecrets } from "#vault";

/** Deletes, with a workspace, its queues and schedules and all that opens its secrets; what else it had is swept after it. */
export async function emptyWorkspace(tx: Db, workspaceId: WorkspaceId): Promise<void> {
  await markLanesDeleted(tx, workspaceId);
  await removeSchedules(tx, workspaceId);
  await removeSecrets(tx, workspaceId);
}
