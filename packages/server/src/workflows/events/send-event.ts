import { type Db, type EventId, problem, type RunId, typeId, type UuidSource, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { openQuotas } from "#usage";
import { startRuns } from "../triggers/start-runs.ts";
import { claimEventKey, findListeners, type KnownEvent } from "./event-store.ts";

/** An event as it is sent. */
export interface EventToSend {
  readonly name: string;
  /** JSON text. */
  readonly data: string;
  /** When it happened. Milliseconds since 1970. */
  readonly ts: number;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
}

/** An event, the runs that it has started, and the lanes in which these wait. */
export interface StartedByEvent {
  readonly id: EventId;
  readonly runIds: readonly RunId[];
  readonly duplicate: boolean;
  readonly lanes: readonly LaneKey[];
}

/**
 * Sends an event: starts a run of each workflow that listens to it, all of them or none. An event with a known key starts none. Like any
 * other event, it is refused when the quota is used up.
 *
 * @throws QUOTA_EXCEEDED; IDEMPOTENCY_MISMATCH for a known key with another name or other data
 */
export async function sendEvent(tx: Db, ids: UuidSource, workspaceId: WorkspaceId, event: EventToSend): Promise<StartedByEvent> {
  const { name, data, ts, idempotency } = event;
  const id = ids.next() as EventId;
  const listeners = await findListeners(tx, workspaceId, name);
  const runs = listeners.map((listener) => ({ ...listener, runId: ids.next() as RunId }));
  const quotas = await openQuotas(tx, [workspaceId]);
  const refusal = quotas.take({ workspaceId, executions: runs.length });
  if (refusal) throw refusal;
  const runIds = runs.map(({ runId }) => runId);
  const known = idempotency && (await claimEventKey(tx, workspaceId, { ...idempotency, eventId: id, runIds }));
  if (known) return duplicateOf(known, idempotency);
  await quotas.store();
  const trigger = JSON.stringify({ type: "event", eventId: showEventId(id), name, ts });
  await startRuns(
    tx,
    runs.map(({ id: laneId, runId, attempts, backoff_delay_ms: backoffDelayMs }) => {
      const common = { workspaceId, laneId, id: runId, attempts, backoffDelayMs, trigger };
      return { ...common, input: data, idempotencyKey: null, runAtMs: null };
    }),
  );
  return { id, runIds, duplicate: false, lanes: runs.map(({ id: laneId }) => ({ workspaceId, laneId })) };
}

function duplicateOf(known: KnownEvent, { key, fingerprint }: NonNullable<EventToSend["idempotency"]>): StartedByEvent {
  if (known.fingerprint !== fingerprint) throw problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: key });
  return { id: known.event_id, runIds: known.run_ids, duplicate: true, lanes: [] };
}

export const showEventId = (id: EventId): string => typeId("evt", id);
