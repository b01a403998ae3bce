import type { JobId, Transactional, WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { deliveriesAcrossWorkspaces, enqueueDeliveries } from "../../src/webhooks/make-deliveries.ts";
import { ids } from "./audit.ts";
import type { TestDatabase } from "./database.ts";
import { lockWaits } from "./lock-waits.ts";

/** Inserts a webhook named `alerts` that wants `job.completed`, into a workspace of its own. No node knows of it. */
export async function putWebhook(database: TestDatabase): Promise<LaneKey> {
  const [lane] = await database.query<{ workspace_id: WorkspaceId; id: string }>(
    `with w as (
       insert into workspace (id, name, plan, retention_days) values (gen_random_uuid(), 'Test', 'team', 365) returning id
     ), l as (
       insert into lane (workspace_id, kind, name, served) select id, 'webhook', 'alerts', 'push' from w returning workspace_id, id
     ), t as (
       insert into webhook_topic (workspace_id, type) select id, 'job.completed' from w
     )
     insert into webhook (workspace_id, id, url, events, secret) select workspace_id, id, 'http://127.0.0.1:9/', '{job.completed}', 'whsec_' from l
     returning workspace_id, id`,
  );
  return { workspaceId: lane?.workspace_id as WorkspaceId, laneId: Number(lane?.id) as LaneId };
}

/** Stores an event of a workspace, for its webhooks. */
export const putEvent = (database: TestDatabase, { workspaceId }: LaneKey, data = "{}"): Promise<unknown> =>
  database.query("insert into event_outbox (workspace_id, type, data) values ($1, 'job.completed', $2)", [workspaceId, data]);

/** Adds webhooks like `alerts` to its workspace. */
export const addWebhooks = (database: TestDatabase, { workspaceId }: LaneKey, count: number): Promise<unknown> =>
  database.query(
    `with l as (
       insert into lane (workspace_id, kind, name, served) select $1, 'webhook', 'more-' || n, 'push' from generate_series(1, $2) n returning workspace_id, id
     )
     insert into webhook (workspace_id, id, url, events, secret) select workspace_id, id, 'http://127.0.0.1:9/', '{job.completed}', 'whsec_' from l`,
    [workspaceId, count],
  );

/** Makes deliveries of all events that wait. */
export const makeDeliveries = (db: Transactional): Promise<unknown> =>
  deliveriesAcrossWorkspaces({
    db,
    ids,
    clock: { elapsedMs: () => 0 },
    lockWaits: lockWaits(),
    emit: () => {},
    waker: { wake: () => {} },
  }).round();

/** Stores deliveries that wait to be sent. Returns their ids in order. */
export async function putDeliveries(engine: Transactional, database: TestDatabase, lane: LaneKey, count: number): Promise<JobId[]> {
  const eventId = ids.next();
  await database.query(
    "insert into webhook_event (workspace_id, id, type, body, expires_at) values ($1, $2, 'job.completed', '{}', 'infinity')",
    [lane.workspaceId, eventId],
  );
  const deliveries = Array.from({ length: count }, () => ({ ...lane, id: ids.next() as JobId, eventId, requested: false, body: "{}" }));
  await engine.transaction((tx) => enqueueDeliveries(tx, deliveries));
  return deliveries.map(({ id }) => id);
}

/** The states of a webhook's deliveries, in the order of their ids. */
export const statesOf = async (database: TestDatabase, { laneId }: LaneKey): Promise<string[]> =>
  (await database.query<{ state: string }>("select state from webhook_delivery where lane_id = $1 order by id", [laneId])).map(
    ({ state }) => state,
  );
