import { removeChains } from "#audit";
import type { Transactional } from "#kernel";
import { markLateLanesDeletedAcrossWorkspaces } from "#lanes";
import { removeEmptyWorkspacesAcrossWorkspaces } from "#workspaces";

/**
 * Removes the rows of deleted workspaces once nothing is left of them: no lane, no job, no audit event, no usage. A queue made while the
 * workspace was being deleted is deleted first.
 */
export async function sweepDeletedWorkspacesAcrossWorkspaces(db: Transactional): Promise<void> {
  await markLateLanesDeletedAcrossWorkspaces(db);
  await db.transaction(async (tx) => {
    const removed = await removeEmptyWorkspacesAcrossWorkspaces(tx);
    if (removed.length > 0) await removeChains(tx, removed);
  });
}
