import { startSettings } from "../workflow/start.ts";
import type { WorkerCalls } from "./calls.ts";
import type { WorkerSettings } from "./options.ts";

/** Tells the service the settings of the worker's workflows. */
export async function registerWorkflows({ workflows }: WorkerSettings, calls: WorkerCalls, signal: AbortSignal): Promise<void> {
  for (const { id, options } of workflows.values()) {
    const { id: _id, input: _input, on, ...settings } = options;
    await calls.putWorkflow(id, { ...settings, ...startSettings(on) }, signal);
  }
}
