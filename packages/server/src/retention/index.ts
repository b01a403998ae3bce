export { clearExpiredRows, maintainPartitions } from "./partitions.ts";
export * from "./retention.ts";
export { sweepDeletedLanesAcrossWorkspaces } from "./sweep-lanes.ts";
export { sweepDeletedWorkspacesAcrossWorkspaces } from "./sweep-workspaces.ts";
