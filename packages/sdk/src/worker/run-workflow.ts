import { TidemillError } from "../error.ts";
import { executeRun } from "../workflow/execute.ts";
import type { ReportedStep, RunOutcome, TakenRun } from "../workflow/protocol.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { ServiceCalls } from "./service-calls.ts";

/** Executes a run that the worker holds. Never rejects. */
export async function runWorkflow(
  { workflows }: WorkerSettings,
  calls: ServiceCalls,
  leases: HeldLeases,
  taken: TakenRun,
  held: Held,
): Promise<RunOutcome> {
  const found = workflows.get(taken.workflowId);
  if (!found) return { outcome: "released" };
  const { signal } = held.controller;
  const lost = new AbortController();
  // At a shutdown, outcomes of steps in progress are still stored.
  signal.addEventListener("abort", () => leases.has(held) || lost.abort(signal.reason));
  const store = async (steps: readonly ReportedStep[]): Promise<void> => {
    try {
      const body = { lease_token: taken.lease_token, steps };
      await calls.send(`/v1/runs/${encodeURIComponent(taken.runId)}/steps`, body, { signal: lost.signal, mayBeRefused: true });
    } catch (error) {
      if (error instanceof TidemillError && error.code === "LEASE_LOST") leases.lose(taken.runId, "lease_lost", taken.lease_token);
      throw error;
    }
  };
  return executeRun(found, taken, { store, signal });
}
