import type { WorkerSettings } from "./options.ts";
import type { ServiceCalls } from "./service-calls.ts";

/** Tells the service the settings of the worker's workflows. */
export async function registerWorkflows({ workflows }: WorkerSettings, calls: ServiceCalls, signal: AbortSignal): Promise<void> {
  for (const { id, options } of workflows.values()) {
    const { attempts, backoff, concurrency, version } = options;
    const settings = { attempts, backoff, concurrency, version };
    await calls.send(`/v1/workflows/${encodeURIComponent(id)}`, settings, { method: "PUT", signal });
  }
}
