import { hooksOf } from "../workflow/hooks.ts";
import { startSettings } from "../workflow/start.ts";
import type { WorkerCalls } from "./calls.ts";
import type { WorkerSettings } from "./options.ts";

/** Tells the service the settings of the worker's workflows. */
export async function registerWorkflows({ workflows }: WorkerSettings, calls: WorkerCalls, signal: AbortSignal): Promise<void> {
  for (const { id, options } of workflows.values()) {
    const { id: _id, input: _input, on, onSuccess: _1, onFailure: _2, onCancel: _3, ...settings } = options;
    const hooks = hooksOf(options);
    await calls.putWorkflow(id, { ...settings, ...startSettings(on), ...(hooks.length > 0 && { hooks }) }, signal);
  }
}
