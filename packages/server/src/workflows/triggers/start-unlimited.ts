import { type Db, isAway, type JobId, type Timestamp, writeBatchOrEach } from "#kernel";
import { runPayload } from "../runs/parent.ts";
import { type StartedRun, TRIGGERED_BY_API, type TriggerOfRun } from "./trigger.ts";
import { type StoredTrigger, storeTriggersAcrossWorkspaces, type TriggerToStore } from "./trigger-store.ts";
import type { EagerRun, RunHolder, WaitingWorkers } from "./waiting-workers.ts";

/** Another trigger was taking the key of this one. Which run the key names is known when that trigger has ended. */
export const UNDECIDED = Symbol("undecided");

/** The outcome of a trigger. Null: there is no such workflow. */
type Outcome = StartedRun | typeof UNDECIDED | null | Error;

/** Starts runs that no quota limits, in one statement. Runs for which a worker waits are started eagerly for it. */
export async function startUnlimited(
  { db, waitingWorkers }: { readonly db: Db; readonly waitingWorkers: WaitingWorkers },
  requests: readonly TriggerOfRun[],
): Promise<Outcome[]> {
  if (requests.length === 0) return [];
  return waitingWorkers.handOver(async (holderOf) => {
    const triggers = requests.map((request): TriggerToStore => {
      const { workspaceId, workflow, dueMs } = request;
      return { ...request, holder: dueMs === null ? holderOf(workspaceId, workflow) : null };
    });
    const stored = await writeBatchOrEach(triggers, (some) => storeTriggersAcrossWorkspaces(db, waitingWorkers.nodeLeaseId, some));
    const held = triggers.flatMap((trigger, at) => eagerRunOf(trigger, stored[at] ?? null) ?? []);
    const unknown = new Map<RunHolder, Error>();
    triggers.forEach(({ holder }, at) => {
      const outcome = stored[at];
      if (holder && outcome instanceof Error && isAway(outcome)) unknown.set(holder, outcome);
    });
    return { result: triggers.map((trigger, at) => outcomeOf(trigger, stored[at] ?? null)), held, unknown };
  });
}

function outcomeOf({ workspaceId, id: own }: TriggerOfRun, stored: StoredTrigger | null | Error): Outcome {
  if (stored === null || stored instanceof Error) return stored;
  const { laneId, runId: id, isHeld } = stored;
  return id === null ? UNDECIDED : { id, duplicate: id !== own, isHeld, lane: { workspaceId, laneId } };
}

/** The run of a trigger as its worker gets it, if it was started eagerly. */
function eagerRunOf({ workspaceId, id, input, holder }: TriggerToStore, stored: StoredTrigger | null | Error): EagerRun | null {
  if (!holder || stored === null || stored instanceof Error || !stored.isHeld) return null;
  const { laneId, attempts, backoffDelayMs, revision, createdAt, leaseUntil } = stored;
  const job = { workspaceId, laneId, id: id as string as JobId, kind: "run", payload: runPayload(undefined), attempts, backoffDelayMs };
  const lease = { leaseId: holder.leaseId, leaseUntil: leaseUntil as Timestamp, attempt: 1, spared: 0, createdAt, startedAt: createdAt };
  const none = { tag: null, concurrencyKey: null, schedule: null, scheduledFor: null, traceparent: null, tracestate: null, probe: null };
  const inputBytes = Buffer.byteLength(input);
  const run = { id, version: holder.version, failures: 0, attempts, input, trigger: TRIGGERED_BY_API, created_at: createdAt };
  return {
    holder,
    claim: { ...job, ...lease, ...none, revision, limited: false },
    begun: { ...run, inputBytes, steps: 0, journalBytes: 0, bytes: inputBytes },
  };
}
