import type { Db, Transactional, WorkspaceId } from "#kernel";
import { OPERATOR, type Registrar } from "./registrar.ts";
import { limitsOf, showWorkspaceId, workspaceNotFound } from "./workspace.ts";
import { markWorkspaceDeleted } from "./workspace-store.ts";

/**
 * Deletes a workspace: its keys and queues are gone for callers at once, what it had is swept after it.
 *
 * @param onDelete deletes, in the same transaction, what rooms further on keep of it
 * @throws NOT_FOUND
 */
export const deleteWorkspace = (
  database: Transactional,
  { audit }: Pick<Registrar, "audit">,
  workspaceId: WorkspaceId,
  onDelete: (tx: Db, workspaceId: WorkspaceId) => Promise<unknown>,
): Promise<void> =>
  database.transaction(async (tx) => {
    const deleted = await markWorkspaceDeleted(tx, workspaceId);
    if (!deleted) throw workspaceNotFound(workspaceId);
    await onDelete(tx, workspaceId);
    await audit.record(tx, {
      workspaceId,
      eventType: "workspace.deleted",
      actorId: OPERATOR,
      resourceType: "workspace",
      resourceId: showWorkspaceId(workspaceId),
      input: { name: deleted.name, plan: deleted.plan, limits: limitsOf(deleted) },
      output: null,
    });
  });
