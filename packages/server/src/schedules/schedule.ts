import type { CatchUp, Overlap, SkipReason } from "@tidemill/contract";
import type { JobId, RunId, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

export type ScheduleId = number & { readonly __of: "schedule" };

/** A schedule as it is stored, with its queue's name. */
export interface Schedule {
  readonly workspace_id: WorkspaceId;
  readonly id: ScheduleId;
  readonly name: string;
  readonly lane_id: LaneId;
  readonly queue: string;
  readonly cron: string;
  readonly timezone: string;
  /** JSON text, as the caller sent it. */
  readonly payload: string;
  readonly tag: string | null;
  readonly priority: number;
  readonly concurrency_key: string | null;
  /** Null: the queue's default. */
  readonly attempts: number | null;
  readonly overlap: Overlap;
  readonly catch_up: CatchUp;
  readonly paused: boolean;
  readonly next_run_at: Timestamp | null;
  /** The newest tick that was taken, whether it created a job or not. */
  readonly last_tick_at: Timestamp | null;
  readonly last_run_at: Timestamp | null;
  readonly last_job_id: JobId | null;
  readonly last_skip_at: Timestamp | null;
  readonly last_skip_reason: SkipReason | null;
  /** Due ticks up to this one are already chosen to run, however late they are. */
  readonly catch_up_to: Timestamp | null;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** A run that a tick of a workflow's schedule starts. */
export interface ScheduledRun extends LaneKey {
  readonly id: RunId;
  readonly attempts: number;
  readonly backoffDelayMs: number;
  /** The tick. Milliseconds since 1970. */
  readonly atMs: number;
}
