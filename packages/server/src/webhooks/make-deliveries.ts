import type { Plan } from "@tidemill/contract";
import { planHas } from "@tidemill/contract";
import { insertOfKind } from "#jobs";
import {
  type Clock,
  type Db,
  type EmitEvent,
  type JobId,
  plainArray,
  rows,
  type ServedBatch,
  serveInTurnsAcrossWorkspaces,
  sql,
  type Transactional,
  type UuidSource,
  type WorkspaceId,
} from "#kernel";
import type { LaneId, LaneKey, Waker } from "#lanes";
import { findSendersAcrossWorkspaces, findWaitingAcrossWorkspaces, type TakenEvent, takeSharesAcrossWorkspaces } from "#outbox";
import { bodyOf, showEventId, withTypeIds } from "./delivery.ts";
import {
  type DeliveryToInsert,
  type EventToInsert,
  insertDeliveriesAcrossWorkspaces,
  insertEventsAcrossWorkspaces,
} from "./delivery-store.ts";

/** Events in one transaction, and the workspaces that share it. */
const MAX_EVENTS = 500;
const MAX_WORKSPACES = 50;
const ROUND_MS = 500;

/** More than what three days of growing waits need: a delivery ends when its time is up. */
const ATTEMPTS = 100;
/** The first wait. It doubles with each attempt, up to a day: attempts after 5 s, 15 s, 35 s … 22 h, 45 h and 69 h. */
const BACKOFF_DELAY_MS = 5_000;

export interface Sending {
  readonly db: Transactional;
  readonly ids: UuidSource;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
  readonly waker: Pick<Waker, "wake">;
}

/**
 * Makes deliveries of the events that wait, for one round. Every node does so without a leader: it skips what another node has locked. An
 * event is deleted in the transaction that makes its deliveries, so it has them exactly once.
 *
 * @returns the wait until there is more to do, in milliseconds; undefined while no event waits
 */
export const makeDeliveriesAcrossWorkspaces = (sending: Sending): Promise<number | undefined> =>
  serveInTurnsAcrossWorkspaces({
    clock: sending.clock,
    maxBatch: MAX_WORKSPACES,
    roundMs: ROUND_MS,
    findNextInMs: () => findWaitingAcrossWorkspaces(sending.db),
    findWorkspaces: () => findSendersAcrossWorkspaces(sending.db),
    serve: (batch) => serve(sending, batch),
    onFailure: (workspaces, error) => sending.emit("webhooks_failed", { workspaces, error }),
  });

async function serve({ db, ids, waker }: Sending, workspaceIds: readonly WorkspaceId[]): Promise<ServedBatch> {
  const share = Math.ceil(MAX_EVENTS / workspaceIds.length);
  const { taken, lanes } = await db.transaction(async (tx) => {
    const events = await takeSharesAcrossWorkspaces(tx, workspaceIds, share);
    return { taken: events, lanes: events.length > 0 ? await deliver(tx, ids, events) : [] };
  });
  if (lanes.length > 0) waker.wake(lanes);
  const full = (id: WorkspaceId) => taken.filter(({ workspaceId }) => workspaceId === id).length >= share;
  return { served: taken.length > 0, more: workspaceIds.filter(full) };
}

interface Receiver extends LaneKey {
  readonly events: readonly string[];
  readonly plan: Plan;
}

/** Makes deliveries of events to the webhooks that want them now. Returns their lanes. */
async function deliver(tx: Db, ids: UuidSource, taken: readonly TakenEvent[]): Promise<LaneKey[]> {
  const receivers = Map.groupBy(
    await findReceivers(tx, [...new Set(taken.map(({ workspaceId }) => workspaceId))]),
    ({ workspaceId }) => workspaceId,
  );
  const events: EventToInsert[] = [];
  const deliveries: (DeliveryToInsert & { readonly body: string })[] = [];
  for (const { workspaceId, type, at, data } of taken) {
    const wanting = (receivers.get(workspaceId) ?? []).filter((one) => planHas(one.plan, "webhooks") && one.events.includes(type));
    if (wanting.length === 0) continue;
    const id = ids.next();
    const body = bodyOf({ id: showEventId(id), type, timestamp: at }, withTypeIds(data));
    events.push({ workspaceId, id, type, body });
    for (const { laneId } of wanting)
      deliveries.push({ workspaceId, laneId, id: ids.next() as JobId, eventId: id, requested: false, body });
  }
  if (events.length === 0) return [];
  await insertEventsAcrossWorkspaces(tx, events);
  await enqueueDeliveries(tx, deliveries);
  return [...new Map<LaneId, LaneKey>(deliveries.map(({ workspaceId, laneId }) => [laneId, { workspaceId, laneId }])).values()];
}

/** Stores deliveries of events that are stored, with the jobs that deliver them. */
export async function enqueueDeliveries(tx: Db, deliveries: readonly (DeliveryToInsert & { readonly body: string })[]): Promise<void> {
  await insertDeliveriesAcrossWorkspaces(tx, deliveries);
  await insertOfKind(
    tx,
    deliveries.map(({ workspaceId, laneId, id, body }) => ({
      workspaceId,
      laneId,
      id,
      kind: "webhook",
      payload: body,
      attempts: ATTEMPTS,
      backoffDelayMs: BACKOFF_DELAY_MS,
      runAtMs: null,
      concurrencyKey: null,
    })),
  );
}

/**
 * The webhooks of workspaces that are switched on. They stay so until the transaction ends: who switches one off waits, and then finds its
 * deliveries. Uses the primary keys.
 */
const findReceivers = (tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<Receiver[]> =>
  rows(
    tx,
    sql`
      select r.workspace_id as "workspaceId", r.id as "laneId", r.events, w.plan
      from (select id from unnest(${plainArray(workspaceIds)}::uuid[]) id order by id) wanted
      join workspace w on w.id = wanted.id and w.deleted_at is null
      cross join lateral (
        select r.workspace_id, r.id, r.events from webhook r join lane l on l.workspace_id = r.workspace_id and l.id = r.id and l.deleted_at is null
        where r.workspace_id = w.id and r.disabled_at is null order by r.id for share of r) r`,
  );
