import type { RunError } from "@tidemill/contract";
import type { Outcome } from "#engine";
import type { ProgressToStore } from "./progress.ts";
import type { RunKey } from "./run.ts";
import type { StepToInsert } from "./step-store.ts";
import type { UnfitReport } from "./unfit.ts";

/** What a program reported of an execution that it ended, as the settle carries it. */
export interface RunReport {
  /** Steps that are not stored yet. */
  readonly steps?: readonly StepToInsert[];
  /** With which the execution failed. */
  readonly error?: RunError;
  /** Keys of the steps that a retry of the run executes again. */
  readonly retrySteps?: readonly string[];
  /** Whether its next attempt does so, too. Older SDKs do not say so, and name steps that it must not. */
  readonly repeats?: boolean;
  /** Why the journal does not fit the code. */
  readonly unfit?: UnfitReport;
  /** What it said of its progress last. JSON text. */
  readonly progress?: string;
}

/** Null: the program reported nothing. */
export function readReport(verdict: Outcome["verdict"]): RunReport | null {
  const text = "report" in verdict ? verdict.report : undefined;
  return text === undefined ? null : (JSON.parse(text) as RunReport);
}

/** What an execution said of the run's progress with its end. */
export const progressOf = ({ run, report }: { readonly run: RunKey; readonly report: RunReport | null }): ProgressToStore[] =>
  report?.progress === undefined ? [] : [{ ...run, progress: report.progress }];
