import type { RunError } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { type Db, problem, type RunId, type Transactional } from "#kernel";
import { lockExecution } from "../executions/execution-store.ts";
import { outputOfStored } from "../journals/output-of-stored.ts";
import type { RunKey } from "../runs/run.ts";
import { addPending, signalTaken } from "../steps/begin-waits.ts";
import { completedStep } from "../steps/step-store.ts";
import { storeStep } from "../steps/store-step.ts";
import { findPendingSignalsAcrossWorkspaces, registerSignalsAcrossWorkspaces } from "./signal-store.ts";

/**
 * Registers a signal for a run, and stores the step that requested it. If the journal has the step, nothing changes.
 *
 * @returns the output of the step, as JSON text; null if the claim no longer holds: then nothing is stored
 * @throws CONFLICT for a signal of another run, for too many of them, and for a key of a step of another type; PAYLOAD_TOO_LARGE for a full
 * journal
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
    const stored = await outputOfStored(tx, run, key, "signal");
    if (stored !== null) return stored;
    const refusal = await register(tx, run, signal);
    if (refusal) throw problem("CONFLICT", { signal, reason: refusal.name }, { message: refusal.message });
    const output = JSON.stringify({ signal });
    await storeStep(tx, run, { ...completedStep(key, "signal", output), signal });
    return output;
  });

async function register(tx: Db, run: RunKey, signal: string): Promise<RunError | null> {
  const pending = await findPendingSignalsAcrossWorkspaces(tx, [run]);
  const refusal = addPending(pending.get(run.id), signal);
  if (refusal) return refusal;
  const [owner] = await registerSignalsAcrossWorkspaces(tx, [{ ...run, signal }], true);
  return owner === run.id ? null : signalTaken(signal, owner as RunId);
}
