import type { RunError } from "@tidemill/contract";
import type { ClaimOutcome } from "#engine";
import type { RunKey } from "../runs/run.ts";
import type { ProgressToStore } from "../steps/progress.ts";
import type { StepToInsert } from "../steps/step-store.ts";
import type { UnfitReport } from "./unfit.ts";

/** What a program reported about an execution that it ended, as the settle carries it. */
export interface RunReport {
  /** Steps that are not stored yet. */
  readonly steps?: readonly StepToInsert[];
  /** The error with which the execution failed. */
  readonly error?: RunError;
  /** Keys of the steps that a retry of the run executes again. */
  readonly retrySteps?: readonly string[];
  /**
   * Whether the run's next attempt also executes these steps again. Older SDKs do not say so, and `retrySteps` may then name steps that the
   * next attempt must not execute.
   */
  readonly repeats?: boolean;
  /** Why the journal does not fit the code. */
  readonly unfit?: UnfitReport;
  /** The last progress that it reported. JSON text. */
  readonly progress?: string;
}

/** Null: the program reported nothing. */
export function readReport(verdict: ClaimOutcome["verdict"]): RunReport | null {
  const text = "report" in verdict ? verdict.report : undefined;
  return text === undefined ? null : (JSON.parse(text) as RunReport);
}

/** The progress that an execution reported with its end. */
export const progressOf = ({ run, report }: { readonly run: RunKey; readonly report: RunReport | null }): ProgressToStore[] =>
  report?.progress === undefined ? [] : [{ ...run, progress: report.progress }];
