import { registrationOf } from "../workflow/registration.ts";
import type { WorkerCalls } from "./calls.ts";
import type { WorkerSettings } from "./options.ts";

/** Tells the service the settings of the worker's workflows. Warns of those that had an endpoint: from now on, workers execute their runs. */
export async function registerWorkflows(
  { workflows, logger, name }: WorkerSettings,
  calls: WorkerCalls,
  signal: AbortSignal,
): Promise<void> {
  for (const workflow of workflows.values()) {
    const changed = await calls.putWorkflow(workflow.id, registrationOf(workflow), signal);
    if (!changed.includes("endpoint_url")) continue;
    logger.warn("The workflow had an endpoint, and has lost it: workers execute its runs from now on.", {
      worker: name,
      workflow: workflow.id,
    });
  }
}
