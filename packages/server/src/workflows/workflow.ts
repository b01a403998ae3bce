import type { Hook, Workflow as WorkflowRecord } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** A workflow with its lane, as a row of view `workflow_record`. */
export interface Workflow {
  readonly workspace_id: WorkspaceId;
  readonly id: LaneId;
  readonly name: string;
  readonly version: string | null;
  readonly attempts: number;
  readonly backoff_delay_ms: number;
  readonly concurrency: number | null;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
  /** Names of events that start runs of it. */
  readonly events: readonly string[];
  /** Lifecycle hooks that its code has. */
  readonly hooks: readonly Hook[];
}

export interface WorkflowContext {
  readonly audit: AuditLog;
}

export const showWorkflow = (workflow: Workflow): WorkflowRecord => ({
  id: workflow.name,
  attempts: workflow.attempts,
  backoff: { type: "exponential", delay: workflow.backoff_delay_ms },
  concurrency: workflow.concurrency,
  version: workflow.version,
  events: [...workflow.events],
  hooks: [...workflow.hooks],
  createdAt: workflow.created_at,
  updatedAt: workflow.updated_at,
});
