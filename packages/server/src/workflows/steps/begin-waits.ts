import type { RunError } from "@tidemill/contract";
import { tooManySignals } from "@tidemill/contract/journal";
import type { Db, RunId } from "#kernel";
import { showRunId } from "../runs/run.ts";
import {
  deleteSignalsAcrossWorkspaces,
  findLostSignalsAcrossWorkspaces,
  findPendingSignalsAcrossWorkspaces,
  registerSignalsAcrossWorkspaces,
  type SignalAsked,
} from "../signals/signal-store.ts";
import type { StepsToInsert, StepToInsert } from "./step-store.ts";
import { cancelWaitsAcrossWorkspaces, findStoredAcrossWorkspaces, lockRunsAcrossWorkspaces } from "./wait-store.ts";

/** Why a run may not have a signal that belongs to another one. */
export const signalTaken = (signal: string, owner: RunId): RunError => ({
  name: "SignalTakenError",
  message: `The signal "${signal}" belongs to the run ${showRunId(owner)}, which has not ended.`,
});

/** Whether steps need `beginWaits` before they are stored. */
export const changeWaits = (steps: readonly StepToInsert[]): boolean =>
  steps.some(({ type, status }) => status === "cancelled" || (status === "waiting" && type !== "sleep"));

/**
 * Prepares steps that change what their runs wait for. The caller has locked the jobs of these runs. Waits that the steps cancel are
 * cancelled, signals that nothing waits for any more are deleted, and the signals of new waits are registered. A wait that may not have its
 * signal fails when the next execution begins, which is also when a wait gets its outcome. So waits end only where an execution begins.
 *
 * @returns the steps to store
 */
export async function beginWaits(tx: Db, reports: readonly StepsToInsert[]): Promise<readonly StepsToInsert[]> {
  const changing = reports.filter(({ steps }) => changeWaits(steps));
  if (changing.length === 0) return reports;
  await lockRunsAcrossWorkspaces(tx, changing);
  const cancelled = changing.flatMap((run) => run.steps.filter(isCancelled).map(({ key }) => ({ ...keyOf(run), key })));
  if (cancelled.length > 0) await cancelWaitsAcrossWorkspaces(tx, cancelled);
  const lost = cancelled.length > 0 ? await findLostSignalsAcrossWorkspaces(tx, cancelled) : [];
  const refusals = await register(tx, changing, lost);
  return reports.map((run) => ({
    ...run,
    steps: run.steps.flatMap((step) => {
      const refusal = refusals.get(step);
      return isCancelled(step) ? [] : [refusal ? { ...step, error: JSON.stringify(refusal) } : step];
    }),
  }));
}

const isCancelled = ({ status }: StepToInsert): boolean => status === "cancelled";
const keyOf = ({ workspaceId, id }: StepsToInsert) => ({ workspaceId, id });

/**
 * Adds a signal to those that a run has registered and not waited for. If there are too many, returns the error for which the run may not
 * have it.
 */
export function addPending(pending = new Set<string>(), signal = ""): RunError | null {
  const refusal = tooManySignals(pending, signal);
  if (!refusal) pending.add(signal);
  return refusal;
}

/**
 * Registers the signals of steps that begin to wait, and deletes the lost ones. Returns the steps that may not have their signal, and why.
 *
 * @param lost signals that nothing else waits for
 */
async function register(
  tx: Db,
  reports: readonly StepsToInsert[],
  lost: readonly SignalAsked[],
): Promise<ReadonlyMap<StepToInsert, RunError>> {
  const waits = reports.flatMap((run) =>
    run.steps.flatMap((step) =>
      step.type === "wait" && step.signal !== null && !isCancelled(step)
        ? [{ ...keyOf(run), step, key: step.key, signal: step.signal }]
        : [],
    ),
  );
  const refusals = new Map<StepToInsert, RunError>();
  if (waits.length + lost.length === 0) return refusals;
  const stored = waits.length > 0 ? await findStoredAcrossWorkspaces(tx, waits) : new Set<number>();
  const pending = await findPendingSignalsAcrossWorkspaces(tx, reports);
  for (const { id, signal } of lost) pending.get(id)?.delete(signal);
  const asked = waits.filter(({ id, step, signal }, index) => {
    if (stored.has(index)) return false;
    const refusal = addPending(pending.get(id), signal);
    if (refusal) refusals.set(step, refusal);
    return refusal === null;
  });
  const unneeded = lost.filter(({ id, signal }) => !pending.get(id)?.has(signal));
  if (asked.length + unneeded.length === 0) return refusals;
  // Those to delete are registered again with the others: so all are locked in one order.
  const owners = await registerSignalsAcrossWorkspaces(tx, [...asked, ...unneeded], false);
  for (const [index, { id, step, signal }] of asked.entries()) {
    const owner = owners[index] as RunId;
    if (owner !== id) refusals.set(step, signalTaken(signal, owner));
  }
  if (unneeded.length > 0) await deleteSignalsAcrossWorkspaces(tx, unneeded);
  return refusals;
}
