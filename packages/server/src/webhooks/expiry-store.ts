import type { JobKey } from "#jobs";
import { type Db, fragment, type JobId, plainArray, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";

/** For how long a delivery is tried. Source: contract §14. */
export const TRIED_FOR = fragment`interval '3 days'`;

/** Some deliveries that have been tried for three days and are not being sent now, in the order of their ids. Uses index webhook_delivery_pending. */
export const findOverdueAcrossWorkspaces = (db: Db, limit: number): Promise<JobKey[]> =>
  rows(
    db,
    sql`
      select d.workspace_id as "workspaceId", d.lane_id as "laneId", d.id
      from (
        select workspace_id, lane_id, id from webhook_delivery
        where state = 'pending' and created_at <= moment() - ${TRIED_FOR} order by state, created_at limit ${limit}
      ) d
      where not exists (
        select from job j where j.workspace_id = any(array[d.workspace_id]) and j.lane_id = d.lane_id and j.id = d.id and j.state = 'active')
      order by d.id`,
  );

/** Marks those of these deliveries as failed for good whose jobs are gone. Locks them in the given order. Uses the primary keys. */
export const failDeliveriesAcrossWorkspaces = (tx: Db, deliveries: readonly JobKey[]): Promise<{ id: JobId }[]> =>
  rows(
    tx,
    sql`
      update webhook_delivery d set state = 'failed', ended_at = moment()
      from unnest(${plainArray(deliveries.map((one) => one.workspaceId))}::uuid[], ${plainArray(deliveries.map((one) => one.laneId))}::bigint[],
        ${plainArray(deliveries.map((one) => one.id))}::uuid[]) o (workspace_id, lane_id, id)
      where d.workspace_id = any(array[o.workspace_id]) and d.id = o.id and d.state = 'pending' and not exists (
        select from job j where j.workspace_id = any(array[o.workspace_id]) and j.lane_id = o.lane_id and j.id = o.id)
      returning d.id`,
  );

/** Deletes some deliveries of a webhook. Uses index webhook_delivery_list. */
export const deleteDeliveries = async (db: Db, { workspaceId, laneId }: LaneKey, limit: number): Promise<number> =>
  (
    await rows(
      db,
      sql`
        delete from webhook_delivery where ctid = any(array(
          select ctid from webhook_delivery where workspace_id = ${workspaceId} and lane_id = ${laneId} order by id desc limit ${limit}))
        returning id`,
    )
  ).length;

/** Deletes some events whose retention has ended, with their deliveries, unless one is pending. Uses index webhook_event_expiry. */
export const deleteExpiredEventsAcrossWorkspaces = async (db: Db, limit: number): Promise<number> =>
  (
    await rows(
      db,
      sql`
        delete from webhook_event where ctid = any(array(
          select e.ctid from webhook_event e
          where e.expires_at <> 'infinity' and e.expires_at <= moment() and not exists (
            select from webhook_delivery d where d.workspace_id = any(array[e.workspace_id]) and d.event_id = e.id and d.state = 'pending')
          order by e.expires_at limit ${limit} for update skip locked))
        returning id`,
    )
  ).length;
