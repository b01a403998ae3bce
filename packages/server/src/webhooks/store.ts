import type { WebhookEvent } from "@tidemill/contract";
import { type Db, fragment, plainArray, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import { findRecordsAcrossWorkspaces, insertLane, type LaneId, type LaneKey, type LaneSettings, updateLane, type WhichLanes } from "#lanes";
import type { Webhook } from "./webhook.ts";

const RECORDS = fragment`webhook_record`;

/** How long a webhook has to respond. Seconds. */
export const TIMEOUT_SECONDS = 15;
/** For how long the secret before a rotation also signs. Source: contract §14. */
const OVERLAP_HOURS = 24;

const LANE: LaneSettings = {
  served: "push",
  paused: undefined,
  concurrency: undefined,
  concurrencyPerKey: undefined,
  rateMax: undefined,
  rateSeconds: undefined,
  attempts: undefined,
  backoffDelayMs: undefined,
  attemptTimeoutSeconds: TIMEOUT_SECONDS,
};

const UNCHANGED: LaneSettings = { ...LANE, served: undefined, attemptTimeoutSeconds: undefined };

/** Settings of a webhook; `undefined` leaves one as it is. */
export interface WebhookSettings {
  readonly url: string | undefined;
  /** JSON text. */
  readonly headers: string | undefined;
  readonly events: readonly WebhookEvent[] | undefined;
  readonly secret: string | undefined;
  readonly enabled: boolean | undefined;
}

/** Creates a webhook with its lane; null when the workspace has one of that name. */
export async function insertWebhook(
  tx: Db,
  workspaceId: WorkspaceId,
  name: string,
  { url, headers, events = [], secret }: WebhookSettings,
): Promise<Webhook | null> {
  const lane = await insertLane(tx, workspaceId, "webhook", name, LANE);
  if (!lane) return null;
  await rows(
    tx,
    sql`
      insert into webhook (workspace_id, id, url, headers, events, secret)
      values (${workspaceId}, ${lane.id}, ${url}, coalesce(${headers}, '{}'), ${textArray(events)}, ${secret})`,
  );
  return findWebhookOfLane(tx, { workspaceId, laneId: lane.id });
}

/**
 * Changes a webhook. The revision of its lane grows, so that no claim from now on uses older settings. One that is switched off is marked:
 * its pending deliveries are to be cancelled. Uses the primary keys.
 */
export async function updateWebhook(
  tx: Db,
  { workspace_id, id }: Webhook,
  { url, headers, events, secret, enabled }: WebhookSettings,
): Promise<Webhook | null> {
  const lane = { workspaceId: workspace_id, laneId: id };
  await updateLane(tx, lane, UNCHANGED);
  await rows(
    tx,
    sql`
      update webhook set
        url = coalesce(${url}, url), headers = coalesce(${headers}, headers), events = coalesce(${events && textArray(events)}::text[], events),
        previous_secret = case when ${secret}::text is null then previous_secret else secret end,
        previous_secret_until = case when ${secret}::text is null then previous_secret_until else moment() + ${OVERLAP_HOURS}::int * interval '1 hour' end,
        secret = coalesce(${secret}, secret),
        disabled_at = case ${enabled}::boolean when true then null when false then coalesce(disabled_at, moment()) else disabled_at end,
        disabled_for = case ${enabled}::boolean when true then null when false then coalesce(disabled_for, 'request') else disabled_for end,
        cancelling = case ${enabled}::boolean when true then false when false then true else cancelling end,
        -- The five days start again.
        failing_since = case when ${enabled}::boolean and disabled_at is not null then null else failing_since end,
        updated_at = moment()
      where workspace_id = ${workspace_id} and id = ${id}`,
  );
  return findWebhookOfLane(tx, lane);
}

/**
 * Switches off a webhook if it has failed for five days, and marks it: its pending deliveries are to be cancelled. The revision of its lane
 * grows, so that claims from now on find it off. Uses the primary keys.
 */
export async function disableIfFailing(tx: Db, lane: LaneKey): Promise<{ failing_since: string } | null> {
  await updateLane(tx, lane, UNCHANGED);
  return row(
    tx,
    sql`
      update webhook set disabled_at = moment(), disabled_for = 'failing', cancelling = true
      where workspace_id = ${lane.workspaceId} and id = ${lane.laneId} and disabled_at is null and failing_since <= moment() - interval '5 days'
      returning failing_since`,
  );
}

/** A webhook that a pass is about. */
export interface NamedWebhook extends LaneKey {
  readonly name: string;
}

/** Some webhooks that have failed for five days, longest first. Uses index webhook_failing. */
export const findFailingAcrossWorkspaces = (db: Db, { ids, among }: WhichLanes, limit: number): Promise<NamedWebhook[]> =>
  rows(
    db,
    sql`
      select w.workspace_id as "workspaceId", w.id as "laneId", l.name
      from webhook w join lane l on l.workspace_id = w.workspace_id and l.id = w.id and coalesce(l.deleted_at, 'infinity') = 'infinity'
      where w.disabled_at is null and w.failing_since <= moment() - interval '5 days'
        and (w.id = any(${plainArray(ids)}::bigint[])) = ${among}::boolean
      order by w.failing_since limit ${limit}`,
  );

/**
 * Some webhooks with deliveries to cancel, longest first, without those whose deliveries another transaction is cancelling. Uses index
 * webhook_cancelling.
 */
export const findCancellingAcrossWorkspaces = (db: Db, { ids, among }: WhichLanes, limit: number): Promise<NamedWebhook[]> =>
  rows(
    db,
    sql`
      select w.workspace_id as "workspaceId", w.id as "laneId", l.name
      from webhook w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
      where w.cancelling and w.disabled_at is not null and (w.id = any(${plainArray(ids)}::bigint[])) = ${among}::boolean
      order by w.disabled_at limit ${limit} for no key update of w skip locked`,
  );

/** Locks a webhook, if it has deliveries to cancel, and no other transaction has locked it. Uses the primary key. */
export const lockCancelling = async (tx: Db, { workspaceId, laneId }: LaneKey): Promise<boolean> =>
  (await row(
    tx,
    sql`
      select from webhook where workspace_id = ${workspaceId} and id = ${laneId} and cancelling and disabled_at is not null
      for no key update skip locked`,
  )) !== null;

/** Records of a webhook that it has no more deliveries to cancel. Uses the primary key. */
export const markCancelled = (tx: Db, { workspaceId, laneId }: LaneKey): Promise<unknown> =>
  rows(tx, sql`update webhook set cancelling = false where workspace_id = ${workspaceId} and id = ${laneId}`);

/** Uses index lane_name. */
export const findWebhook = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Webhook | null> =>
  row(
    db,
    sql`
      select w.* from lane l cross join lateral (
        select * from webhook_record r where r.workspace_id = l.workspace_id and r.id = l.id offset 0) w
      where l.workspace_id = ${workspaceId} and l.kind = 'webhook' and l.name = ${name} and l.deleted_at is null`,
  );

/** Uses the primary keys. */
const findWebhookOfLane = (db: Db, { workspaceId, laneId }: LaneKey): Promise<Webhook | null> =>
  row(db, sql`select * from webhook_record where workspace_id = ${workspaceId} and id = ${laneId}`);

/** The webhooks of these lanes, in any order. Uses the primary keys. */
export const findWebhooksAcrossWorkspaces = (db: Db, lanes: readonly LaneKey[]): Promise<Webhook[]> =>
  findRecordsAcrossWorkspaces(db, RECORDS, lanes);

/** A page of the webhooks, newest first. A workspace has few of them. Uses the primary keys. */
export const listWebhooks = (db: Db, workspaceId: WorkspaceId, before: LaneId | null, limit: number): Promise<Webhook[]> =>
  rows(
    db,
    sql`
      select * from webhook_record
      where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before}) order by id desc limit ${limit}`,
  );

/** How many webhooks a workspace has. */
export const countWebhooks = async (tx: Db, workspaceId: WorkspaceId): Promise<number> =>
  (await row<{ n: number }>(tx, sql`select count(*)::int as n from webhook_record where workspace_id = ${workspaceId}`))?.n ?? 0;

/** How many webhooks of these workspaces are on. Workspaces that have none are left out. Uses the primary key. */
export const countOnAcrossWorkspaces = async (tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<ReadonlyMap<WorkspaceId, number>> =>
  new Map(
    (
      await rows<{ id: WorkspaceId; n: number }>(
        tx,
        sql`
          select workspace_id as id, count(*)::int as n from webhook
          where workspace_id = any(${plainArray(workspaceIds)}::uuid[]) and disabled_at is null group by workspace_id`,
      )
    ).map(({ id, n }) => [id, n]),
  );

/** The types of events that webhooks of a workspace want. */
export const findWantedTypes = async (tx: Db, workspaceId: WorkspaceId): Promise<string[]> =>
  (
    await rows<{ type: string }>(
      tx,
      sql`
        select distinct type from webhook_record w cross join unnest(w.events) type
        where w.workspace_id = ${workspaceId} and w.disabled_at is null`,
    )
  ).map(({ type }) => type);
