export * from "./admin-context.ts";
export * from "./api-key.ts";
export * from "./create-key.ts";
export * from "./create-workspace.ts";
export * from "./delete-workspace.ts";
export * from "./key.ts";
export { IS_VALID_KEY, listKeys } from "./key-store.ts";
export * from "./patch-workspace.ts";
export * from "./plan.ts";
export * from "./revoke-key.ts";
export * from "./workspace.ts";
export * from "./workspace-in.ts";
export {
  findWorkspace,
  hasDeletedAcrossWorkspaces,
  listAcrossWorkspaces,
  lockWorkspace,
  readCursorKey,
  removeEmptyWorkspacesAcrossWorkspaces,
} from "./workspace-store.ts";
export * from "./workspaces.ts";
