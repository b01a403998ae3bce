import { LIMITS } from "@tidemill/contract";
import {
  binaryTextArray,
  CUT_PAGE,
  type Db,
  type JobId,
  MAX_SCANNED_ROWS,
  type PageRow,
  plainArray,
  row,
  rows,
  sql,
  textArray,
  type Uuid,
  type WorkspaceId,
} from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { Delivery } from "./delivery.ts";

/** An event to send, with the body that it has in every delivery. */
export interface EventToInsert {
  readonly workspaceId: WorkspaceId;
  readonly id: Uuid;
  readonly type: string;
  readonly body: string;
}

/** Stores events, with the retention of their workspace's plan. */
export const insertEventsAcrossWorkspaces = (tx: Db, events: readonly EventToInsert[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      insert into webhook_event (workspace_id, id, type, body, expires_at)
      select e.workspace_id, e.id, e.type, e.body, coalesce(moment() + w.retention_days * interval '1 day', 'infinity')
      from unnest(${plainArray(events.map((one) => one.workspaceId))}::uuid[], ${plainArray(events.map((one) => one.id))}::uuid[],
        ${textArray(events.map((one) => one.type))}::text[], ${binaryTextArray(events.map((one) => one.body))}::text[]) e (workspace_id, id, type, body)
      join workspace w on w.id = e.workspace_id`,
  );

/** A delivery to make. */
export interface DeliveryToInsert extends LaneKey {
  readonly id: JobId;
  readonly eventId: Uuid;
  readonly requested: boolean;
}

export const insertDeliveriesAcrossWorkspaces = (tx: Db, deliveries: readonly DeliveryToInsert[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      insert into webhook_delivery (workspace_id, lane_id, id, event_id, requested)
      select * from unnest(${plainArray(deliveries.map((one) => one.workspaceId))}::uuid[], ${plainArray(deliveries.map((one) => one.laneId))}::bigint[],
        ${plainArray(deliveries.map((one) => one.id))}::uuid[], ${plainArray(deliveries.map((one) => one.eventId))}::uuid[],
        ${plainArray(deliveries.map((one) => one.requested))}::boolean[])`,
  );

/** An attempt that ended. */
export interface AttemptToRecord {
  readonly workspaceId: WorkspaceId;
  readonly id: JobId;
  readonly state: "pending" | "delivered" | "failed";
  readonly attempt: number;
  readonly status: number | null;
  readonly body: string | null;
  /** JSON text. */
  readonly error: string | null;
  /** JSON text. */
  readonly logEntry: string;
}

/** Records attempts of pending deliveries, in the given order. Returns the deliveries that were pending. Uses the primary key. */
export const recordAttemptsAcrossWorkspaces = (tx: Db, attempts: readonly AttemptToRecord[]): Promise<{ id: JobId }[]> =>
  rows(
    tx,
    sql`
      update webhook_delivery d set state = a.state, attempts = a.attempt, response_status = a.status, response_body = a.body, last_error = a.error,
        attempts_log = case when d.attempts < ${LIMITS.webhookAttemptsLogged}::int then concat_ws(',', nullif(d.attempts_log, ''), a.log_entry)
          else d.attempts_log end,
        ended_at = case when a.state <> 'pending' then moment() end
      from unnest(${plainArray(attempts.map((one) => one.workspaceId))}::uuid[], ${plainArray(attempts.map((one) => one.id))}::uuid[],
        ${textArray(attempts.map((one) => one.state))}::webhook_delivery_state[], ${plainArray(attempts.map((one) => one.attempt))}::int[],
        ${plainArray(attempts.map((one) => one.status))}::int[], ${textArray(attempts.map((one) => one.body))}::text[],
        ${textArray(attempts.map((one) => one.error))}::text[], ${textArray(attempts.map((one) => one.logEntry))}::text[])
        as a (workspace_id, id, state, attempt, status, body, error, log_entry)
      where d.workspace_id = any(array[a.workspace_id]) and d.id = a.id and d.state = 'pending'
      returning d.id`,
  );

/** Which of these deliveries are pending. Uses the primary key. */
export const findPendingAcrossWorkspaces = async (
  db: Db,
  deliveries: readonly { readonly workspaceId: WorkspaceId; readonly id: JobId }[],
): Promise<ReadonlySet<JobId>> =>
  new Set(
    (
      await rows<{ id: JobId }>(
        db,
        sql`
          select d.id from unnest(${plainArray(deliveries.map((one) => one.workspaceId))}::uuid[], ${plainArray(deliveries.map((one) => one.id))}::uuid[])
            as a (workspace_id, id)
          join webhook_delivery d on d.workspace_id = any(array[a.workspace_id]) and d.id = a.id and d.state = 'pending'`,
      )
    ).map(({ id }) => id),
  );

/** Records for webhooks whether their last attempts succeeded. Only changes are written. Uses the primary key. */
export const recordHealthAcrossWorkspaces = (tx: Db, lanes: readonly (LaneKey & { readonly succeeded: boolean })[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      update webhook w set failing_since = case when not h.succeeded then moment() end,
        last_success_at = case when h.succeeded then moment() else w.last_success_at end
      from (
        select * from unnest(${plainArray(lanes.map((one) => one.workspaceId))}::uuid[], ${plainArray(lanes.map((one) => one.laneId))}::bigint[],
          ${plainArray(lanes.map((one) => one.succeeded))}::boolean[]) h (workspace_id, lane_id, succeeded)
        order by workspace_id, lane_id offset 0
      ) h
      where w.workspace_id = any(array[h.workspace_id]) and w.id = h.lane_id
        and case when h.succeeded then w.failing_since is not null or coalesce(w.last_success_at, '-infinity') < moment() - interval '1 minute'
          else w.failing_since is null end`,
  );

/**
 * Cancels some pending deliveries of a webhook that is switched off, with ids above `after`, and locks them in the order of their ids. A
 * delivery that was requested since then is left. Uses index webhook_delivery_pending_of.
 */
export const cancelSomeDeliveries = async (
  tx: Db,
  { workspaceId, laneId }: LaneKey,
  { after, limit }: { readonly after: JobId | null; readonly limit: number },
): Promise<JobId[]> =>
  (
    await rows<{ id: JobId }>(
      tx,
      sql`
        with found as (
          select id from webhook_delivery
          where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'pending' and id > coalesce(${after}, '00000000-0000-0000-0000-000000000000'::uuid)
            and (not requested or created_at <= (select disabled_at from webhook where workspace_id = ${workspaceId} and id = ${laneId}))
          order by id limit ${limit} for update
        ), cancelled as (
          update webhook_delivery set state = 'cancelled', ended_at = moment()
          where workspace_id = ${workspaceId} and state = 'pending' and id = any(array(select id from found))
          returning id
        )
        select id from cancelled order by id`,
    )
  ).map(({ id }) => id);

/**
 * Cancels those of these deliveries whose webhook is switched off, unless they were requested since then. Returns which are still to be
 * sent. Deliveries that another transaction has locked are left, and not returned. Uses the primary keys.
 */
export const cancelUnwantedAcrossWorkspaces = async (
  db: Db,
  deliveries: readonly { readonly workspaceId: WorkspaceId; readonly id: JobId }[],
): Promise<ReadonlySet<JobId>> =>
  new Set(
    (
      await rows<{ id: JobId }>(
        db,
        sql`
          with pending as materialized (
            select d.workspace_id, d.id, w.disabled_at is null or d.requested and d.created_at > w.disabled_at as wanted
            from unnest(${plainArray(deliveries.map((one) => one.workspaceId))}::uuid[], ${plainArray(deliveries.map((one) => one.id))}::uuid[])
              as a (workspace_id, id)
            join webhook_delivery d on d.workspace_id = any(array[a.workspace_id]) and d.id = a.id and d.state = 'pending'
            cross join lateral (
              select disabled_at from webhook w where w.workspace_id = d.workspace_id and w.id = d.lane_id offset 0) w
            for update of d skip locked
          ), cancelled as (
            update webhook_delivery d set state = 'cancelled', ended_at = moment() from pending p
            where d.workspace_id = any(array[p.workspace_id]) and d.id = p.id and not p.wanted
          )
          select id from pending where wanted`,
      )
    ).map(({ id }) => id),
  );

/** A page of a webhook's deliveries, newest first. A null filter matches all. The page ends after 10,000 rows that were read. */
export interface DeliveryPage extends LaneKey {
  readonly states: readonly string[] | null;
  readonly types: readonly string[] | null;
  readonly before: JobId | null;
  readonly limit: number;
  /** The maximum number of rows to read. */
  readonly maxScanned?: number;
}

/** Uses index webhook_delivery_list. */
export const listDeliveries = (
  db: Db,
  { workspaceId, laneId, states, types, before, limit, maxScanned = MAX_SCANNED_ROWS }: DeliveryPage,
): Promise<(Delivery & PageRow<JobId>)[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select d.*, e.type, case when j.state = 'delayed' then j.run_at end as next_attempt_at, '' as payload, null::text as result
        from (
          select * from webhook_delivery where workspace_id = ${workspaceId} and lane_id = ${laneId} and (${before}::uuid is null or id < ${before})
          order by id desc limit ${maxScanned}
        ) d
        cross join lateral (select type from webhook_event e where e.workspace_id = d.workspace_id and e.id = d.event_id offset 0) e
        left join job j on j.workspace_id = any(array[d.workspace_id]) and j.lane_id = d.lane_id and j.id = d.id
        where (${states && textArray(states)}::text[] is null or d.state::text = any(${states && textArray(states)}))
          and (${types && textArray(types)}::text[] is null or e.type = any(${types && textArray(types)}))
        order by d.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from webhook_delivery where workspace_id = ${workspaceId} and lane_id = ${laneId} and (${before}::uuid is null or id < ${before})
          order by id desc offset ${maxScanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses the primary keys. */
export const findDelivery = (
  db: Db,
  { workspaceId, laneId }: { readonly workspaceId: WorkspaceId; readonly laneId: LaneId },
  id: JobId,
): Promise<(Delivery & { readonly body: string }) | null> =>
  row(
    db,
    sql`
      select d.*, e.type, e.body, case when j.state = 'delayed' then j.run_at end as next_attempt_at
      from webhook_delivery d
      join webhook_event e on e.workspace_id = d.workspace_id and e.id = d.event_id
      left join job j on j.workspace_id = any(array[d.workspace_id]) and j.lane_id = d.lane_id and j.id = d.id
      where d.workspace_id = ${workspaceId} and d.id = ${id} and d.lane_id = ${laneId}`,
  );
