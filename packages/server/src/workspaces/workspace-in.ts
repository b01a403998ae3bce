import { type Db, notFound, type WorkspaceId } from "#kernel";
import { readWorkspaceId, type WorkspaceRow, workspaceNotFound } from "./workspace.ts";
import { findWorkspace } from "./workspace-store.ts";

/** The workspace that a path names. @throws NOT_FOUND if the text is not an id */
export function workspaceIn({ id: text }: { readonly id: string }): WorkspaceId {
  const id = readWorkspaceId(text);
  if (!id) throw notFound({ resource: "workspace", id: text });
  return id;
}

/** @throws NOT_FOUND */
export async function existingWorkspace(db: Db, id: WorkspaceId): Promise<WorkspaceRow> {
  const workspace = await findWorkspace(db, id);
  if (!workspace) throw workspaceNotFound(id);
  return workspace;
}
