import { setImmediate } from "node:timers/promises";
import type { Plan } from "@tidemill/contract";
import { planHas } from "@tidemill/contract";
import { insertInternalJobs, MAX_WEIGHT, weightOf } from "#jobs";
import {
  type Clock,
  type Db,
  type EmitEvent,
  type JobId,
  type LockWaits,
  plainArray,
  RoundRobinLoop,
  rows,
  type ServedBatch,
  sql,
  type Transactional,
  type UuidSource,
  type WorkspaceId,
} from "#kernel";
import type { LaneId, LaneKey, Waker } from "#lanes";
import {
  type EventShare,
  findSendersAcrossWorkspaces,
  findWaitingAcrossWorkspaces,
  type TakenEvent,
  takeSharesAcrossWorkspaces,
} from "#outbox";
import { bodyOf, showEventId, withTypeIds } from "./delivery.ts";
import {
  type DeliveryToInsert,
  type EventToInsert,
  insertDeliveriesAcrossWorkspaces,
  insertEventsAcrossWorkspaces,
} from "./delivery-store.ts";
import { countOnAcrossWorkspaces } from "./store.ts";

/** The maximum number of events in one transaction, and of the workspaces that share it. */
const MAX_EVENTS = 500;
const MAX_WORKSPACES = 50;
const ROUND_MS = 500;
/**
 * The maximum size of events in one transaction, each counted once per webhook of its workspace. Bytes. PostgreSQL takes about 20 ms to
 * store a megabyte.
 */
const MAX_BYTES = 16 * 1024 * 1024;
/** Making bodies yields to the event loop after this time. */
const YIELD_AFTER_MS = 5;

/** More than what three days of growing waits need: a delivery ends when its time is up. */
const ATTEMPTS = 100;
/** The first wait. It doubles with each attempt, up to a day: attempts after 5 s, 15 s, 35 s … 22 h, 45 h and 69 h. */
const BACKOFF_DELAY_MS = 5_000;

export interface Sending {
  readonly db: Transactional;
  readonly ids: UuidSource;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly lockWaits: LockWaits;
  readonly emit: EmitEvent;
  readonly waker: Pick<Waker, "wake">;
}

/**
 * Makes deliveries of the events that wait. All nodes do so, without a leader: each skips what another has locked. An event is deleted in
 * the transaction that makes its deliveries, so they are made exactly once.
 */
export const deliveriesAcrossWorkspaces = (sending: Sending): RoundRobinLoop =>
  new RoundRobinLoop({
    name: "webhooks",
    clock: sending.clock,
    lockWaits: sending.lockWaits,
    maxBatch: MAX_WORKSPACES,
    roundMs: ROUND_MS,
    findNextInMs: () => findWaitingAcrossWorkspaces(sending.db),
    findWorkspaces: () => findSendersAcrossWorkspaces(sending.db),
    serve: (batch) => serve(sending, batch),
    onFailure: (workspaces, error) => sending.emit("webhook_deliveries_not_written", { workspaces, error }),
  });

async function serve(sending: Sending, workspaceIds: readonly WorkspaceId[]): Promise<ServedBatch> {
  const { db, waker } = sending;
  const maxEvents = Math.ceil(MAX_EVENTS / workspaceIds.length);
  const { taken, shares, lanes } = await db.transaction(async (tx) => {
    const webhooks = await countOnAcrossWorkspaces(tx, workspaceIds);
    const shares = workspaceIds.map((workspaceId) => ({
      workspaceId,
      maxBytes: Math.ceil(MAX_BYTES / workspaceIds.length / (webhooks.get(workspaceId) ?? 1)),
    }));
    const events = await takeSharesAcrossWorkspaces(tx, shares, maxEvents);
    return { taken: events, shares, lanes: events.length > 0 ? await deliver(tx, sending, events) : [] };
  });
  if (lanes.length > 0) waker.wake(lanes);
  const eventsOf = Map.groupBy(taken, ({ workspaceId }) => workspaceId);
  const isFull = ({ workspaceId, maxBytes }: EventShare) => {
    const events = eventsOf.get(workspaceId) ?? [];
    return events.length >= maxEvents || events.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0) >= maxBytes;
  };
  return { served: taken.length > 0, more: shares.filter(isFull).map(({ workspaceId }) => workspaceId) };
}

interface Receiver extends LaneKey {
  readonly events: readonly string[];
  readonly plan: Plan;
}

/** Deliveries that one statement stores, and the events that are stored before them. */
interface Portion {
  readonly events: EventToInsert[];
  readonly deliveries: (DeliveryToInsert & { readonly body: string })[];
}

/** Makes deliveries of events to the webhooks that want them now, with statements of limited weight. Returns their lanes. */
async function deliver(tx: Db, { ids, clock }: Pick<Sending, "ids" | "clock">, taken: readonly TakenEvent[]): Promise<LaneKey[]> {
  // Read after the events were taken, so that a webhook that is created later gets none of them.
  const receivers = Map.groupBy(
    await findReceivers(tx, [...new Set(taken.map(({ workspaceId }) => workspaceId))]),
    ({ workspaceId }) => workspaceId,
  );
  const lanes = new Map<LaneId, LaneKey>();
  let portion: Portion = { events: [], deliveries: [] };
  let weight = 0;
  let yieldedMs = clock.elapsedMs();
  for (const { workspaceId, type, at, data } of taken) {
    const wanting = (receivers.get(workspaceId) ?? []).filter((one) => planHas(one.plan, "webhooks") && one.events.includes(type));
    if (wanting.length === 0) continue;
    const id = ids.next();
    const body = bodyOf({ id: showEventId(id), type, timestamp: at }, withTypeIds(data));
    portion.events.push({ workspaceId, id, type, body });
    for (const { laneId } of wanting) {
      lanes.set(laneId, { workspaceId, laneId });
      portion.deliveries.push({ workspaceId, laneId, id: ids.next() as JobId, eventId: id, requested: false, body });
    }
    weight += wanting.length * weightOf(body);
    if (weight >= MAX_WEIGHT) {
      await store(tx, portion);
      portion = { events: [], deliveries: [] };
      weight = 0;
    } else if (clock.elapsedMs() - yieldedMs > YIELD_AFTER_MS) await setImmediate();
    else continue;
    yieldedMs = clock.elapsedMs();
  }
  if (portion.events.length > 0) await store(tx, portion);
  return [...lanes.values()];
}

async function store(tx: Db, { events, deliveries }: Portion): Promise<void> {
  await insertEventsAcrossWorkspaces(tx, events);
  await enqueueDeliveries(tx, deliveries);
}

/** Stores deliveries of events that are stored, with the jobs that deliver them. */
export async function enqueueDeliveries(tx: Db, deliveries: readonly (DeliveryToInsert & { readonly body: string })[]): Promise<void> {
  await insertDeliveriesAcrossWorkspaces(tx, deliveries);
  await insertInternalJobs(
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
 * The webhooks of workspaces that are switched on. They stay on until the transaction ends: a request that switches one off waits, and then
 * finds its deliveries. Uses the primary keys.
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
