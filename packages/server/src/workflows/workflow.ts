import { type Hook, type Plan, planHas, type Workflow as WorkflowRecord } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import type { Random, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { AddressGuard } from "#outbound";
import type { Schedules } from "#schedules";
import { describeMissing } from "#workspaces";

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
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly next_run_at: Timestamp | null;
  readonly revision: number;
  /** Where nodes send its executions. Null: workers take them. */
  readonly endpoint_url: string | null;
  readonly endpoint_secret: string | null;
  /** Seconds. */
  readonly endpoint_timeout: number;
}

/** Who registers a workflow, and the plan of their workspace. */
export interface WorkflowActor extends Actor {
  readonly plan: Plan;
}

export interface WorkflowContext {
  readonly audit: AuditLog;
  readonly schedules: Pick<Schedules, "putForWorkflow">;
  readonly random: Random;
  readonly guard: Pick<AddressGuard, "refusesHost">;
}

/** The record as the API shows it in a workspace of this plan, without its secret. */
export const showWorkflow = (workflow: Workflow, plan: Plan): WorkflowRecord => ({
  id: workflow.name,
  attempts: workflow.attempts,
  backoff: { type: "exponential", delay: workflow.backoff_delay_ms },
  concurrency: workflow.concurrency,
  version: workflow.version,
  events: [...workflow.events],
  cron: workflow.cron,
  timezone: workflow.timezone,
  nextRunAt: workflow.next_run_at,
  hooks: [...workflow.hooks],
  endpoint_url: workflow.endpoint_url,
  endpoint_timeout: workflow.endpoint_timeout,
  has_endpoint_secret: workflow.endpoint_secret !== null,
  endpoint_stopped:
    workflow.endpoint_url !== null && !planHas(plan, "callback_url")
      ? { code: "PLAN_REQUIRED", message: describeMissing(plan, "callback_url") }
      : null,
  createdAt: workflow.created_at,
  updatedAt: workflow.updated_at,
});
