import type { JobState } from "@tidemill/contract";
import { type Db, type JobId, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobRow } from "./job.ts";

/** A page of a queue's jobs: newest first, with ids below `before`. A null filter matches all jobs. */
export interface JobsPage {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly states: readonly JobState[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly limit: number;
}

/** Greater than every id. */
const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId;
const PARKED: readonly JobState[] = ["delayed", "pending_approval", "failed"];

/** Lists live and finished jobs together. The filters decide which statement is used, so that it reads few rows that do not match. */
export function listJobs(db: Db, page: JobsPage): Promise<JobRow[]> {
  const { states, tags } = page;
  if (states?.every((state) => PARKED.includes(state))) return listParked(db, page);
  if (states?.every((state) => state === "active")) return listActive(db, page);
  return tags ? listTagged(db, page, tags) : listAny(db, page);
}

/** Uses the primary keys. */
const listAny = (db: Db, { workspaceId, laneId, states, before, limit }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, null::text as result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${limit})
      union all
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          and expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${limit})
      order by id desc limit ${limit}`,
  );

/** Uses indexes job_tag and job_history_tag. */
const listTagged = (db: Db, { workspaceId, laneId, states, before, limit }: JobsPage, tags: readonly string[]): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, null::text as result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = any(${tags}) and id < ${before ?? NEWEST}
          and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${limit})
      union all
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = any(${tags}) and id < ${before ?? NEWEST}
          and expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${limit})
      order by id desc limit ${limit}`,
  );

/** Uses index job_parked. */
const listParked = (db: Db, { workspaceId, laneId, states, tags, before, limit }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      select *, null as result from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
        and state in ('delayed', 'pending_approval', 'failed') and state = any(${states}::job_state[])
        and (${tags}::text[] is null or tag = any(${tags}))
      order by id desc limit ${limit}`,
  );

/** Uses index job_active, which has no more entries than all nodes and workers have jobs in flight. */
const listActive = (db: Db, { workspaceId, laneId, tags, before, limit }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      select *, null as result from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST} and state = 'active'
        and (${tags}::text[] is null or tag = any(${tags}))
      order by id desc limit ${limit}`,
  );
