import type { Limits, Plan, Workspace } from "@tidemill/contract";
import { notFound, type ProblemError, type Timestamp, typeId, type Uuid, uuidOf, type WorkspaceId } from "#kernel";

/** A workspace as it is stored. */
export interface WorkspaceRow extends Limits {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly plan: Plan;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** A key of a workspace was revoked or, without one, its plan or limits have changed. */
export type WorkspaceChanged = (workspaceId: WorkspaceId, keyId: Uuid | null) => void;

export const showWorkspaceId = (id: WorkspaceId): string => typeId("ws", id);

export const readWorkspaceId = (text: string): WorkspaceId | null => uuidOf("ws", text) as WorkspaceId | null;

export const workspaceNotFound = (id: WorkspaceId): ProblemError => notFound({ resource: "workspace", id: showWorkspaceId(id) });

export const limitsOf = ({ executions_per_month, requests_per_minute, retention_days }: Limits): Limits => ({
  executions_per_month,
  requests_per_minute,
  retention_days,
});

export const showWorkspace = (workspace: WorkspaceRow): Workspace => ({
  id: showWorkspaceId(workspace.id),
  name: workspace.name,
  plan: workspace.plan,
  limits: limitsOf(workspace),
  created_at: workspace.created_at,
  updated_at: workspace.updated_at,
});
