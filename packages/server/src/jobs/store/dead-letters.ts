import type { DeadLetterFilter, RetryAll } from "@tidemill/contract";
import { type Db, type Fragment, fragment, type JobId, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { withinBytes } from "./bytes.ts";
import { COUNT_PURGED, COUNT_REVIVED } from "./counts.ts";
import { ASSIGN_SLOTS_OF_MOVED } from "./fragments.ts";

/** Selects failed jobs of one queue, or of all queues when `laneId` is null. Every given filter must match. */
export interface DeadLetterQuery {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId | null;
  readonly filter: Omit<DeadLetterFilter, "queue"> & RetryAll & { readonly fingerprint?: string };
}

/** A part of the work: jobs that failed no later than `until`, among the next `limit` rows with ids below `before`. */
export interface DeadLetterChunk {
  readonly until: Timestamp;
  readonly before: JobId;
  readonly limit: number;
}

/** How many jobs of each lane were moved or removed, and the last row that was read. Null: all rows were read. */
export interface ChunkDone {
  readonly lanes: readonly { readonly lane_id: LaneId; readonly jobs: number }[];
  readonly reached: JobId | null;
}

/**
 * The last row of CTE `scanned`, if there may be more: if `scanned` has as many rows as CTE `requested` allows, or as many bytes as a
 * statement deletes.
 */
const REACHED = fragment`(
  select id from scanned
  where (select count(*) from listed) = (select records from requested) or (select count(*) from scanned) < (select count(*) from listed)
  order by id limit 1)`;

type Row = { lane_id: LaneId | null; jobs: number; reached: JobId | null };

const chunkDone = (found: readonly Row[]): ChunkDone => ({
  lanes: found.flatMap(({ lane_id, jobs }) => (lane_id === null ? [] : [{ lane_id, jobs }])),
  reached: found.find(({ reached }) => reached !== null)?.reached ?? null,
});

/** What happens to the jobs of CTE `picked`, as CTE `moved`, and what is selected with each lane of `moved`. */
interface Change {
  /** The jobs of CTE `listed` that one statement changes. */
  readonly within: Fragment;
  readonly moved: Fragment;
  readonly counted: Fragment;
  readonly perLane: Fragment;
}

const PICKED = fragment`
  workspace_id = (select workspace_id from requested) and state = 'failed' and id = any(array(select id from picked))`;

const RETRY: Change = {
  within: fragment`listed`,
  moved: fragment`
    update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null where ${PICKED}
    returning workspace_id, lane_id, concurrency_key`,
  counted: COUNT_REVIVED,
  perLane: ASSIGN_SLOTS_OF_MOVED,
};

const PURGE: Change = {
  within: withinBytes(fragment`listed`, fragment`id desc`),
  moved: fragment`delete from job where ${PICKED} returning workspace_id, lane_id`,
  counted: COUNT_PURGED,
  perLane: fragment`null`,
};

/**
 * Picks a chunk of failed jobs and changes them. Uses index job_failed, job_parked for one queue, or job_fingerprint for one group, to
 * scan; the primary key to lock; and job_failed to change them, with an array of ids between the two. With a join, a plan that was made
 * while the table was small would read every job of the workspace for each picked one.
 */
const changeFailed = async (
  db: Db,
  { within, moved, counted, perLane }: Change,
  { workspaceId, laneId, filter }: DeadLetterQuery,
  { until, before, limit }: DeadLetterChunk,
): Promise<ChunkDone> =>
  chunkDone(
    await rows(
      db,
      sql`
        with requested as (
          select ${limit}::int as records, ${workspaceId}::uuid as workspace_id
        ), listed as (
          (select lane_id, id, octet_length(payload) as size from job
            where coalesce(workspace_id, id) = ${workspaceId}::uuid and fingerprint = ${filter.fingerprint} and state = 'failed' and id < ${before}
            order by id desc limit ${limit})
          union all
          (select lane_id, id, octet_length(payload) from job
            where ${filter.fingerprint}::text is null and ${laneId}::bigint is null and workspace_id = ${workspaceId} and state = 'failed' and id < ${before}
            order by id desc limit ${limit})
          union all
          (select lane_id, id, octet_length(payload) from job
            where ${filter.fingerprint}::text is null and workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before}
              and state in ('delayed', 'pending_approval', 'failed')
            order by id desc limit ${limit})
        ), scanned as (
          select lane_id, id from ${within} portion
        ), picked as (
          select j.id from scanned s
          cross join lateral (
            select id from lane l where l.workspace_id = ${workspaceId} and l.id = s.lane_id
              and coalesce(l.deleted_at, 'infinity') = 'infinity' offset 0) l
          cross join lateral (
            select id from job where workspace_id = ${workspaceId} and lane_id = s.lane_id and id = s.id and state = 'failed'
              and finished_at <= ${until}::timestamptz and (${filter.tag}::text is null or tag = ${filter.tag})
              and (${laneId}::bigint is null or lane_id = ${laneId})
              and (${filter.fingerprint}::text is null or fingerprint = ${filter.fingerprint})
              and (${filter.error}::text is null or error_code = ${filter.error})
              and (${filter.failed_before}::timestamptz is null or finished_at < ${filter.failed_before})
              and (${filter.failed_after}::timestamptz is null or finished_at >= ${filter.failed_after})
            for update skip locked) j
        ), moved as (
          ${moved}
        ), tallied as (
          ${counted}
        )
        select lane_id, count(*) as jobs, null::uuid as reached, ${perLane} as changed from moved group by lane_id
        union all
        select null, 0, ${REACHED}, null`,
    ),
  );

/** Moves a chunk of failed jobs to `waiting`, with fresh attempts. */
export const retryFailed = (db: Db, query: DeadLetterQuery, chunk: DeadLetterChunk): Promise<ChunkDone> =>
  changeFailed(db, RETRY, query, chunk);

/** Removes a chunk of failed jobs. */
export const purgeFailed = (db: Db, query: DeadLetterQuery, chunk: DeadLetterChunk): Promise<ChunkDone> =>
  changeFailed(db, PURGE, query, chunk);
