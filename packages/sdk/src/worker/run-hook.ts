import type * as contract from "@tidemill/contract";
import { failureOf } from "../workflow/failure.ts";
import { callHook, type LifecycleHooks } from "../workflow/hooks.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";

/** How long a hook waits if this worker's code does not have it: another worker may have newer code. Seconds. */
const OTHERS_FIRST = 10;

/** Calls a lifecycle hook of a run. Never rejects. */
export async function runHook({ workflows, logger, name }: WorkerSettings, taken: contract.TakenHook): Promise<Outcome> {
  const options: LifecycleHooks = workflows.get(taken.workflowId)?.options ?? {};
  if (!options[taken.hook]) {
    logger.warn(`The workflow has no ${taken.hook} in the code of this worker. It leaves the hook to another worker.`, {
      worker: name,
      workflow: taken.workflowId,
      run: taken.runId,
    });
    return { outcome: "released", retry_in: OTHERS_FIRST };
  }
  try {
    await callHook(options, taken);
    return { outcome: "completed" };
  } catch (error) {
    const { name: thrown, message } = failureOf(error);
    logger.error("A hook of a run failed.", { worker: name, run: taken.runId, hook: taken.hook, error: `${thrown}: ${message}` });
    return { outcome: "failed", error: message || thrown };
  }
}
