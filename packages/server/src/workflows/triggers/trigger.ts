import type { RunId, WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";

/** A run to start. */
export interface Trigger {
  readonly workflow: string;
  /** JSON text. */
  readonly input: string;
  readonly idempotencyKey: string | null;
  /** When the run is due. Milliseconds since 1970; null: now. */
  readonly dueMs: number | null;
}

/** The run of a trigger, and whether an earlier trigger with the same key has started it. */
export interface StartedRun {
  readonly id: RunId;
  readonly duplicate: boolean;
  /** Whether a worker holds it already, so that nobody has to claim it. */
  readonly isHeld: boolean;
  readonly lane: LaneKey;
}

/** A trigger of a workspace, and the run that it is to start. */
export interface TriggerOfRun extends Trigger {
  readonly workspaceId: WorkspaceId;
  readonly id: RunId;
}

/** What started a run that a caller has triggered. JSON text. */
export const TRIGGERED_BY_API = '{"type":"api"}';
