import { durationMs } from "../workflow/duration.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import { DEFAULT_ATTEMPTS, type End, type MemoryRun } from "./memory-run.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const BACKOFF_MS = 1_000;

/**
 * Executes a run until it has ended.
 *
 * @throws when it has not ended after `maxExecutions`: by the virtual clock, a workflow that sleeps in an endless loop would never end
 */
export async function finishRun(run: MemoryRun, clock: VirtualClock, workflow: AnyWorkflow, maxExecutions: number): Promise<End> {
  for (let executions = 0; executions < maxExecutions; executions += 1) {
    const end = await execute(run, clock, workflow);
    if (end) return end;
  }
  const last = run.steps.at(-1);
  throw new Error(
    `The run has not ended after ${maxExecutions} executions${last ? `; its last step is "${last.key}"` : ""}. ` +
      "If the workflow needs more, raise maxExecutions. If it never ends, let the test end it with cancelAfter.",
  );
}

/** One execution, and what follows it. Null: the run continues. */
async function execute(run: MemoryRun, clock: VirtualClock, { options }: AnyWorkflow): Promise<End | null> {
  const outcome = await run.execute();
  if (run.endToUndo) return run.isUndone && run.endUndo(outcome) ? run.endToUndo : null;
  if (outcome.outcome === "completed") {
    await run.checkReplay(outcome.result);
    return { status: "completed", result: outcome.result, error: null };
  }
  if (outcome.outcome === "unfit") throw new Error(`The workflow is not deterministic. ${outcome.error}`);
  if (outcome.outcome === "suspended") await run.wake();
  if (outcome.outcome !== "failed") return null;
  const { error: message, error_name: name, retry, retry_in = 0, retry_steps = [] } = outcome;
  if (retry === false || run.attempt >= (options.attempts ?? DEFAULT_ATTEMPTS)) return run.fail({ name, message });
  await clock.wait(Math.max(retry_in * 1_000, durationMs("backoff.delay", options.backoff?.delay ?? BACKOFF_MS) * 2 ** (run.attempt - 1)));
  if (retry) run.forget(retry_steps);
  run.attempt += 1;
  return null;
}
