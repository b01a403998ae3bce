import type { TakenRun } from "@tidemill/contract";
import { momentText } from "../clock.ts";
import type { Run } from "./context.ts";
import type { Execution } from "./execution.ts";
import { patchKey } from "./journal.ts";
import { stepBase } from "./step-keys.ts";

/** The parts of its run that a program sees. */
export type ExecutedRun = Pick<TakenRun, "runId" | "workflowId" | "attempt" | "input" | "journal">;

/** The `run` of a workflow's function. */
export function runValues(
  execution: Execution,
  { runId, workflowId, attempt }: Pick<ExecutedRun, "runId" | "workflowId" | "attempt">,
): Run {
  const { host, journal } = execution;
  const patches = new Map<string, boolean>();
  const value = (name: string, make: (key: string) => unknown) => execution.value(name, make, momentText(host.nowMs()));

  /** If the journal has steps that the program has not reached yet, the old code went on from here. */
  const decidePatch = (name: string): boolean => {
    const key = stepBase(patchKey(name), undefined);
    return (journal.has(key) || journal.unreached === 0) && value(key, () => true) === true;
  };

  return {
    id: runId,
    workflowId,
    attempt,
    now: () => value("run.now", () => host.nowMs()) as number,
    random: () => value("run.random", (key) => host.random(key)) as number,
    uuid: () => value("run.uuid", (key) => host.uuid(key)) as string,
    patched: (name) => {
      const decided = patches.get(name) ?? decidePatch(name);
      patches.set(name, decided);
      return decided;
    },
    progress: (value) => {
      if (!execution.isReplaying) host.progress(value);
    },
  };
}
