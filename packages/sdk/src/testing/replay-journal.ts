import type { RunStep } from "@tidemill/contract";
import { replay } from "../workflow/replay.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";

/** A run with its journal, as `GET /v1/runs/:id` or `GET /v1/workflows/:id/journals` returns it. */
export interface ExportedRun {
  readonly runId: string;
  readonly input?: unknown;
  readonly attempt?: number;
  readonly steps?: readonly RunStep[];
  readonly journal?: readonly RunStep[];
}

/** The outcome of a replay. */
export type JournalCheck =
  | { readonly fits: true }
  /** `step` is the key of the first step that does not fit. */
  | { readonly fits: false; readonly step: string; readonly reason: string };

export interface ReplayOptions {
  /** How long the workflow may be busy with something other than steps. Milliseconds; 1,000 by default. */
  readonly patienceMs?: number;
}

/**
 * Replays the journal of a run with the code of a workflow, and returns whether the code fits: whether it calls all steps that the journal
 * has, with the same types. No step is executed, and nothing is sent. Code outside of steps runs.
 *
 * ```ts
 * const run = JSON.parse(readFileSync("run.json", "utf8")); // tidemill run get run_… --json
 * expect(await replayJournal(onboard, run)).toEqual({ fits: true });
 * ```
 *
 * @throws {TypeError} for a run without a journal
 */
export async function replayJournal(
  workflow: AnyWorkflow,
  { runId, input = null, attempt = 1, steps, journal = steps }: ExportedRun,
  { patienceMs = 1_000 }: ReplayOptions = {},
): Promise<JournalCheck> {
  if (!Array.isArray(journal)) throw new TypeError("The run must have a journal: a list in its steps or its journal.");
  const run = { runId, workflowId: workflow.id, attempt, input, journal: [...journal] as RunStep[] };
  const replayed = await replay(workflow, run, { patienceMs });
  return replayed.kind === "unfit" ? { fits: false, step: replayed.step, reason: replayed.reason } : { fits: true };
}
