/** What executions are made of, as docs/run-protocol.md says. */

export type StepType = "run" | "value" | "sleep";

export interface StepFailure {
  readonly name: string;
  readonly message: string;
}

/** A step of a journal. */
export interface RunStep {
  readonly key: string;
  readonly type: StepType;
  readonly status: "completed" | "failed" | "waiting";
  readonly output: unknown;
  readonly error: StepFailure | null;
  readonly attempt: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly wakeAt: string | null;
}

/** A step as the program reports it. */
export interface ReportedStep {
  readonly key: string;
  readonly type: StepType;
  readonly status: RunStep["status"];
  readonly output?: unknown;
  readonly error?: StepFailure;
  readonly attempt?: number;
  readonly startedAt?: string;
  /** Milliseconds. */
  readonly sleepFor?: number;
  readonly sleepUntil?: string;
}

/** An execution of a run, as a worker gets it. */
export interface TakenRun {
  readonly runId: string;
  readonly workflowId: string;
  readonly version: string | null;
  readonly attempt: number;
  readonly attempts: number;
  readonly input: unknown;
  readonly journal: readonly RunStep[];
  readonly lease_token: string;
  readonly lease_expires_at: string;
}

/** How an execution ended. */
export type RunOutcome =
  | { readonly outcome: "completed"; readonly result?: unknown; readonly steps?: readonly ReportedStep[] }
  | {
      readonly outcome: "failed";
      readonly error: string;
      readonly error_name: string;
      readonly retry?: boolean;
      /** Seconds. */
      readonly retry_in?: number;
    }
  | { readonly outcome: "suspended"; readonly steps: readonly ReportedStep[] }
  | { readonly outcome: "released" };

/** The end of an execution, as it is reported. */
export type SettleRun = RunOutcome & { readonly id: string; readonly lease_token: string };
