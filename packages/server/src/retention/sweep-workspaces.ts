import { removeChains } from "#audit";
import type { Transactional } from "#kernel";
import { markLateLanesDeletedAcrossWorkspaces } from "#lanes";
import { hasDeletedAcrossWorkspaces, removeEmptyWorkspacesAcrossWorkspaces } from "#workspaces";

/**
 * Deletes the rows of deleted workspaces that have nothing left: no lane, job, audit event or usage. Queues that were created while
 * their workspace was being deleted are deleted first.
 */
export async function sweepDeletedWorkspacesAcrossWorkspaces(db: Transactional): Promise<void> {
  // The statements below take longer to plan than everything else that a starting node does.
  if (!(await hasDeletedAcrossWorkspaces(db))) return;
  await markLateLanesDeletedAcrossWorkspaces(db);
  await db.transaction(async (tx) => {
    const removed = await removeEmptyWorkspacesAcrossWorkspaces(tx);
    if (removed.length > 0) await removeChains(tx, removed);
  });
}
