import { type Db, plainArray, rows, sql, textArray } from "#kernel";
import { CLAIM_BYTES, type Holder, type WorkerClaim } from "./claim.ts";
import { CLAIMABLE, CLAIMED_COLUMNS } from "./fragments.ts";

/**
 * Claims jobs for workers from one queue whose last claim brought as many as were asked for, so that there are probably more. It brings
 * nothing if the queue is not simple: if it has limits or an open circuit, is paused, or is not served by workers. It brings fewer than
 * were asked for if the queue has no more, if other transactions hold its jobs, or if their payloads exceed `MAX_CLAIM_BYTES`. The general
 * claim finds out why.
 *
 * It returns the jobs as it claims them, while the general claim stores them first, beside what it has found about lanes: a job takes
 * PostgreSQL 16 µs instead of 22. The update finds the locked rows by their ctid, as in the general claim from one lane. Uses index
 * job_claimable.
 *
 * @param leaseId of the node
 */
export function claimFromBacklogAcrossWorkspaces(db: Db, leaseId: number, holders: readonly Holder[]): Promise<WorkerClaim[]> {
  const { workspaceId, laneId } = holders[0] as Holder;
  let asked = 0;
  const uptos = holders.map(({ take }) => {
    asked += take;
    return asked;
  });
  return rows(
    db,
    sql`
      update job set state = 'active', attempt = job.attempt + 1, lease_id = next.lease_id, lease_until = next.read_at + next.seconds * interval '1 second',
        lease_request = next.request, started_at = next.read_at
      from (
        select found.at, found.place, found.revision, found.read_at, holder.lease_id, holder.seconds, holder.request
        from (
          select j.at, l.revision, l.read_at, row_number() over so_far as place, sum(j.size) over so_far - j.size as bytes_before
          from (
            select * from lane_gate g where g.workspace_id = ${workspaceId} and g.lane_id = ${laneId} offset 0
          ) l cross join lateral (
            select ctid as at, octet_length(payload) as size from job
            where job.workspace_id = l.workspace_id and job.lane_id = l.lane_id and ${CLAIMABLE}
            order by priority desc, run_at, id limit ${asked}::int for update skip locked
          ) j
          where not l.limited and not l.paused and l.served = 'pull'
            and exists (select from lease where id = ${leaseId} and expires_at > now())
            and not exists (select from circuit c where c.workspace_id = l.workspace_id and c.lane_id = l.lane_id)
          window so_far as (rows unbounded preceding)
        ) found
        join unnest(${plainArray(uptos)}::int[], ${plainArray(holders.map(({ take }) => take))}::int[],
          ${plainArray(holders.map((one) => one.leaseId))}::bigint[], ${plainArray(holders.map((one) => one.leaseSeconds))}::int[],
          ${textArray(holders.map((one) => one.request))}::text[]) holder (upto, take, lease_id, seconds, request)
          on found.place > holder.upto - holder.take and found.place <= holder.upto
        where found.bytes_before < ${CLAIM_BYTES}
      ) next
      where job.ctid = next.at
      returning ${CLAIMED_COLUMNS}, payload, next.revision, null::json as probe, false as limited, job.lease_until as "leaseUntil",
        job.lease_request as request, next.place`,
  );
}
