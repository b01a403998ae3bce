import type { Db, Transactional, WorkspaceId } from "#kernel";
import { type AdminContext, OPERATOR } from "./admin-context.ts";
import { limitsOf, showWorkspaceId, workspaceNotFound } from "./workspace.ts";
import { markWorkspaceDeleted } from "./workspace-store.ts";

/**
 * Deletes a workspace. Its keys and queues disappear for callers immediately. A background sweep removes the rest of its data.
 *
 * @param onDelete deletes what other modules store for the workspace, in the same transaction
 * @throws NOT_FOUND
 */
export const deleteWorkspace = (
  database: Transactional,
  { audit }: Pick<AdminContext, "audit">,
  workspaceId: WorkspaceId,
  onDelete: (tx: Db, workspaceId: WorkspaceId) => Promise<unknown>,
  actorId = OPERATOR,
): Promise<void> =>
  database.transaction(async (tx) => {
    const deleted = await markWorkspaceDeleted(tx, workspaceId);
    if (!deleted) throw workspaceNotFound(workspaceId);
    await onDelete(tx, workspaceId);
    await audit.record(tx, {
      workspaceId,
      eventType: "workspace.deleted",
      actorId,
      resourceType: "workspace",
      resourceId: showWorkspaceId(workspaceId),
      input: { name: deleted.name, plan: deleted.plan, limits: limitsOf(deleted) },
      output: null,
    });
  });
