import { typeId, uuidOf, type WorkspaceId } from "#kernel";

export const showWorkspaceId = (id: WorkspaceId): string => typeId("ws", id);

export const readWorkspaceId = (text: string): WorkspaceId | null => uuidOf("ws", text) as WorkspaceId | null;
