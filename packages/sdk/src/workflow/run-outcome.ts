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
      /** Steps that a retry of the run executes again. */
      readonly retry_steps?: readonly string[];
      readonly steps?: readonly ReportedStep[];
    }
  | { readonly outcome: "suspended"; readonly steps: readonly ReportedStep[] }
  | { readonly outcome: "released" };
