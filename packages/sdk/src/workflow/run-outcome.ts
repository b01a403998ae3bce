import type { ReportedStep } from "@tidemill/contract";

/** How an execution ended. */
export type RunOutcome =
  | { readonly outcome: "completed"; readonly result: unknown; readonly steps?: readonly ReportedStep[] }
  | {
      readonly outcome: "failed";
      readonly error: string;
      readonly error_name: string;
      readonly retry?: boolean;
      /** Seconds. */
      readonly retry_in?: number;
      /** Steps that the run's next attempt executes again, or a retry of the run if it has no other. */
      readonly retry_steps?: readonly string[];
      readonly steps?: readonly ReportedStep[];
    }
  | { readonly outcome: "suspended"; readonly steps: readonly ReportedStep[] }
  /** The journal does not fit the code, from this step on. */
  | { readonly outcome: "unfit"; readonly step: string; readonly error: string }
  | { readonly outcome: "released" };
