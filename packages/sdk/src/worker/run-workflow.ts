import type * as contract from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { executeRun } from "../workflow/execute.ts";
import type { WorkerCalls } from "./calls.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";

/** Executes a run that the worker holds. Never rejects. */
export async function runWorkflow(
  { workflows }: WorkerSettings,
  calls: WorkerCalls,
  leases: HeldLeases,
  taken: contract.TakenRun,
  { controller, lost }: Held,
): Promise<Outcome> {
  const found = workflows.get(taken.workflowId);
  if (!found) return { outcome: "released" };
  const { runId, lease_token } = taken;
  // At a shutdown, outcomes of steps in progress are still stored.
  const store = async (steps: readonly contract.ReportedStep[]): Promise<void> => {
    try {
      await calls.storeSteps(runId, { lease_token, steps: [...steps] }, lost.signal);
    } catch (error) {
      if (error instanceof TidemillError && error.code === "LEASE_LOST") leases.lose(runId, "lease_lost", lease_token);
      throw error;
    }
  };
  const outcome = await executeRun(found, taken, { store, signal: controller.signal });
  return outcome.outcome === "completed" ? { ...outcome, result: JSON.stringify(outcome.result) } : outcome;
}
