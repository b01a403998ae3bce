import type * as contract from "@tidemill/contract";
import { failureOf } from "../workflow/failure.ts";
import { callHook } from "../workflow/hooks.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";

/** Calls a lifecycle hook of a run. Never rejects. */
export async function runHook({ workflows, logger, name }: WorkerSettings, taken: contract.TakenHook): Promise<Outcome> {
  try {
    await callHook(workflows.get(taken.workflowId)?.options ?? {}, taken);
    return { outcome: "completed" };
  } catch (error) {
    const { name: thrown, message } = failureOf(error);
    logger.error("A hook of a run failed.", { worker: name, run: taken.runId, hook: taken.hook, error: `${thrown}: ${message}` });
    return { outcome: "failed", error: message || thrown };
  }
}
