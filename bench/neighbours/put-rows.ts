import { type Db, row, rows, sql } from "../../packages/server/src/kernel/index.ts";
import { insertJobs } from "../insert-jobs.ts";

/** Lanes of queues to insert directly into the database, each with one waiting job. */
interface LanesToPut {
  readonly workspaceId: string;
  /** Of the queues' names. */
  readonly prefix: string;
  readonly lanes: number;
  /** Null: nobody serves them. */
  readonly url: string | null;
  readonly timeoutSeconds?: number;
  readonly paused?: boolean;
}

/** Inserts queues with one waiting job each. */
export const putLanes = (db: Db, { workspaceId, prefix, lanes, url, timeoutSeconds = 30, paused = false }: LanesToPut): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      with made as (
        insert into lane (workspace_id, kind, name, served, paused, attempt_timeout_seconds)
        select ${workspaceId}, 'queue', ${prefix}::text || n, ${url === null ? "none" : "push"}::text::lane_service, ${paused}, ${timeoutSeconds}
        from generate_series(1, ${lanes}::int) n
        returning workspace_id, id
      ), queues as (
        insert into queue (workspace_id, id, callback_url, callback_secret) select workspace_id, id, ${url}, 'cbs_' || repeat('x', 43) from made
      )
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select workspace_id, id, gen_random_uuid(), 'waiting', 0, 1, 1000, now(), now(), '{}' from made`,
  );

/** Resumes queues of a workspace. Nodes notice it at their next poll. */
export const resumeLanes = (db: Db, workspaceId: string, prefix: string): Promise<unknown> =>
  rows(db, sql`update lane set paused = false where workspace_id = ${workspaceId} and starts_with(name, ${prefix})`);

/** Inserts failed jobs into a queue. Their fingerprint is made once, and not for each of them. */
export const putDeadLetters = (db: Db, workspaceId: string, queue: string, jobs: number): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      with failed as materialized (
        select workspace_id, id as lane_id, error, (failure_of_error(queue_host(workspace_id, id), error)).fingerprint
        from lane, (values ('{"code":"HTTP_STATUS","message":"The handler answered 500.","status":500}')) of_job (error)
        where workspace_id = ${workspaceId} and name = ${queue}
      )
      insert into job (workspace_id, lane_id, id, state, priority, attempt, attempts, backoff_delay_ms, run_at, created_at, finished_at, tag,
        payload, error_code, last_error, fingerprint)
      select workspace_id, lane_id, gen_random_uuid(), 'failed', 0, 1, 1, 1000, now(), now(), now(), 'tag', '{"to":"ada@example.com"}', 'HTTP_STATUS',
        error, fingerprint
      from failed, generate_series(1, ${jobs}::int) n`,
  );

/** Inserts delayed jobs into a queue, all due at `dueMs`. */
export const putDelayed = (db: Db, workspaceId: string, queue: string, jobs: number, dueMs: number): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select l.workspace_id, l.id, gen_random_uuid(), 'delayed', 0, 1, 1000, to_timestamp(${dueMs}::float8 / 1000), now(), '{}'
      from lane l, generate_series(1, ${jobs}::int) n where l.workspace_id = ${workspaceId} and l.name = ${queue}`,
  );

/** How many attempts were charged to a workspace's jobs, in addition to the one that each needs. */
export async function countCharged(db: Db, workspaceId: string): Promise<number> {
  const counted = await row<{ n: number }>(
    db,
    sql`
      select count(*)::int as n from (
        select attempt, spared, state from job where workspace_id = ${workspaceId}
        union all
        select attempt, spared, state from job_history where workspace_id = ${workspaceId}
      ) j
      where state = 'failed' or attempt - spared > case when state in ('waiting', 'delayed') then 0 else 1 end`,
  );
  return counted?.n ?? 0;
}

/** Deletes all workspaces and all they have, except audit events. No node may run. */
export const clearWorkspaces = (db: Db): Promise<unknown> =>
  rows(db, sql`truncate workspace, job, job_history, idempotency_key, batch_key, tally, usage_delta, usage_day, lease cascade`);

/** Updates the planner's statistics. */
export async function analyze(db: Db): Promise<void> {
  await rows(db, sql`vacuum analyze job`);
  await rows(db, sql`vacuum analyze lane`);
}
