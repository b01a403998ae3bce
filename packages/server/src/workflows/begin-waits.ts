import type { RunError } from "@tidemill/contract";
import type { Db } from "#kernel";
import { type RunKey, showRunId } from "./run.ts";
import { consumeSignals, hasTooManySignals, registerSignals, type SignalRow } from "./signal-store.ts";
import { findKeys, type StepToInsert } from "./step-store.ts";

/** Why a run may not have a signal. Null: it may. */
export async function refusalOf(tx: Db, run: RunKey, signal: SignalRow | undefined): Promise<RunError | null> {
  if (!signal) throw new Error("A signal that was registered is not there.");
  if (signal.run_id !== run.id)
    return {
      name: "SignalTakenError",
      message: `The signal "${signal.id}" belongs to the run ${showRunId(signal.run_id)}, which has not ended.`,
    };
  if (await hasTooManySignals(tx, run))
    return { name: "TooManySignalsError", message: "The run has 100 signals that it has not waited for." };
  return null;
}

/**
 * Registers the signals of steps that begin to wait. A step whose signal is completed already has its outcome at once, and one whose signal
 * belongs to another run has failed. All other steps are returned as they are.
 */
export async function beginWaits(tx: Db, run: RunKey, steps: readonly StepToInsert[]): Promise<readonly StepToInsert[]> {
  const waits = steps.filter(({ type }) => type === "wait");
  if (waits.length === 0) return steps;
  const known = await findKeys(
    tx,
    run,
    waits.map(({ key }) => key),
  );
  const asked = waits.filter(({ key }) => !known.has(key)).map(({ signal }) => signal as string);
  if (asked.length === 0) return steps;
  const signals = await registerSignals(tx, run, asked, false);
  const begun: StepToInsert[] = [];
  for (const step of steps) begun.push(step.type === "wait" && !known.has(step.key) ? await begin(tx, run, step, signals) : step);
  return begun;
}

async function begin(tx: Db, run: RunKey, step: StepToInsert, signals: ReadonlyMap<string, SignalRow>): Promise<StepToInsert> {
  const signal = signals.get(step.signal as string);
  const refusal = await refusalOf(tx, run, signal);
  if (refusal) return { ...step, status: "failed", error: JSON.stringify(refusal), wakeInMs: null };
  if (!signal?.payload) return step;
  await consumeSignals(tx, run, [signal.id]);
  return { ...step, status: "completed", output: signal.payload, wakeInMs: null };
}
