import type { NamedClaim } from "#jobs";
import { problem, type Transactional } from "#kernel";
import { refusalOf } from "./begin-waits.ts";
import { lockExecution } from "./execution-store.ts";
import type { RunKey } from "./run.ts";
import { findStep } from "./run-store.ts";
import { registerSignals } from "./signal-store.ts";
import { insertStepsAcrossWorkspaces } from "./step-store.ts";

/**
 * Registers a signal for a run, and stores the step that asked for it. If the journal has the step, nothing changes.
 *
 * @returns the output of the step, as JSON text; null, and nothing is stored, if the claim no longer holds
 * @throws CONFLICT for a signal of another run, or too many of them
 */
export const registerSignal = (
  database: Transactional,
  run: RunKey,
  claim: NamedClaim,
  key: string,
  signal: string,
): Promise<string | null> =>
  database.transaction(async (tx) => {
    if (!(await lockExecution(tx, run, claim))) return null;
    const stored = await findStep(tx, run, key);
    if (stored) return stored.output ?? "null";
    const refusal = await refusalOf(tx, run, (await registerSignals(tx, run, [signal], true)).get(signal));
    if (refusal) throw problem("CONFLICT", { signal, reason: refusal.name }, { message: refusal.message });
    const output = JSON.stringify({ signal });
    const outcome = {
      status: "completed",
      output,
      error: null,
      attempt: 1,
      startedAt: null,
      wakeAt: null,
      wakeInMs: null,
      signal,
    } as const;
    await insertStepsAcrossWorkspaces(tx, [{ ...run, claim: null, steps: [{ key, type: "signal", ...outcome }] }]);
    return output;
  });
