import { registrationOf } from "../workflow/registration.ts";
import type { WorkerCalls } from "./calls.ts";
import type { WorkerSettings } from "./options.ts";

/** Tells the service the settings of the worker's workflows. */
export async function registerWorkflows({ workflows }: WorkerSettings, calls: WorkerCalls, signal: AbortSignal): Promise<void> {
  for (const workflow of workflows.values()) await calls.putWorkflow(workflow.id, registrationOf(workflow), signal);
}
