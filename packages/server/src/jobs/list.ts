import type { JobState } from "@tidemill/contract";
import { type Db, type JobId, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobRow } from "./job.ts";

/** A page of a queue's jobs: newest first, from below `before`. Null filters hold for all. */
export interface JobsPage {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly states: readonly JobState[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly most: number;
}

/** Above every id. */
const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId;
const PARKED: readonly JobState[] = ["delayed", "pending_approval", "failed"];

/** Lists jobs, live and finished together. Which statement serves depends on what would otherwise be read to be thrown away. */
export function listJobs(db: Db, page: JobsPage): Promise<JobRow[]> {
  const { states, tags } = page;
  if (states?.every((state) => PARKED.includes(state))) return listParked(db, page);
  if (states?.every((state) => state === "active")) return listActive(db, page);
  return tags ? listTagged(db, page, tags) : listAny(db, page);
}

/** Leans on the primary keys. */
const listAny = (db: Db, { workspaceId, laneId, states, before, most }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, null::text as result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${most})
      union all
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          and expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${most})
      order by id desc limit ${most}`,
  );

/** Leans on job_tag and job_history_tag. */
const listTagged = (db: Db, { workspaceId, laneId, states, before, most }: JobsPage, tags: readonly string[]): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, null::text as result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = any(${tags}) and id < ${before ?? NEWEST}
          and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${most})
      union all
      (select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
          payload, result, last_error, schedule, scheduled_for, idempotency_key, approval
        from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = any(${tags}) and id < ${before ?? NEWEST}
          and expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${most})
      order by id desc limit ${most}`,
  );

/** Leans on job_parked. */
const listParked = (db: Db, { workspaceId, laneId, states, tags, before, most }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      select *, null as result from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
        and state in ('delayed', 'pending_approval', 'failed') and state = any(${states}::job_state[])
        and (${tags}::text[] is null or tag = any(${tags}))
      order by id desc limit ${most}`,
  );

/** Leans on job_active, which is never larger than what all nodes have under way. */
const listActive = (db: Db, { workspaceId, laneId, tags, before, most }: JobsPage): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      select *, null as result from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST} and state = 'active'
        and (${tags}::text[] is null or tag = any(${tags}))
      order by id desc limit ${most}`,
  );
