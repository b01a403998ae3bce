import { type Db, rows, sql } from "../packages/server/src/kernel/index.ts";
import { vacuumAnalyze } from "./put-jobs.ts";

const QUEUES = 20;

/**
 * Inserts jobs as they may lie in a workspace of 20 queues: a fifth failed, three in ten finished, the rest waiting or delayed; and besides
 * `waiting` jobs in one queue that nobody serves. Counts are corrected. Returns the name of a queue.
 */
export async function putDashboardJobs(db: Db, jobs: number, waiting: number): Promise<string> {
  if (jobs > 0) {
    await putQueues(db, "mixed-", QUEUES);
    await putLive(db, Math.floor(jobs * 0.7));
    await putHistory(db, Math.floor(jobs * 0.3));
  }
  if (waiting > 0) {
    await putQueues(db, "waiting-", 1);
    await putWaiting(db, waiting);
  }
  await rows(db, sql`select recount_jobs(null)`);
  await vacuumAnalyze(db);
  await rows(db, sql`vacuum analyze job_history`);
  return "mixed-1";
}

const putQueues = (db: Db, prefix: string, queues: number): Promise<unknown> =>
  rows(
    db,
    sql`
      with made as (
        insert into lane (workspace_id, kind, name, served)
        select id, 'queue', ${prefix}::text || n, 'none' from workspace, generate_series(1, ${queues}::int) n
        returning workspace_id, id
      )
      insert into queue (workspace_id, id) select workspace_id, id from made`,
  );

/** A UUID of version 7 of the nth millisecond from a month ago on, as ids of jobs have. */
const putLive = (db: Db, jobs: number): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempt, attempts, backoff_delay_ms, run_at, created_at, finished_at, tag,
        last_error, error_code, payload)
      select workspace_id, lane_id, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 2000000 + n), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        state::job_state, 0, case when state = 'failed' then 3 else 0 end, 3, 1000,
        now() + case when state = 'delayed' then interval '1 day' else n * interval '-1 millisecond' end, now(),
        case when state = 'failed' then now() - n * interval '1 second' end, 'tag-' || n % 50,
        case when state = 'failed' then '{"code":"HTTP_STATUS","message":"The handler responded with 500.","status":500}' end,
        case when state = 'failed' then 'HTTP_STATUS' end, '{"to":"ada@example.com","order":' || n || '}'
      from (
        select n, case when n % 7 < 2 then 'failed' when n % 7 = 2 then 'delayed' else 'waiting' end as state, lanes[1 + n % ${QUEUES}::int] as lane_id, workspace_id
        from generate_series(1, ${jobs}::int) n
        cross join (select workspace_id, array_agg(id) as lanes from lane where starts_with(name, 'mixed-') group by workspace_id) l
      ) made`,
  );

const putHistory = (db: Db, jobs: number): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into job_history (workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
        started_at, finished_at, tag, payload, attempts_log, expires_at)
      select workspace_id, lanes[1 + n % ${QUEUES}::int],
        (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 4000000 + n), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        'queue', 'completed', 0, 1, 0, 3, 1000, now(), now(), now(), now(), 'tag-' || n % 50, '{"to":"ada@example.com"}', '', now() + interval '30 days'
      from generate_series(1, ${jobs}::int) n
      cross join (select workspace_id, array_agg(id) as lanes from lane where starts_with(name, 'mixed-') group by workspace_id) l`,
  );

const putWaiting = (db: Db, jobs: number): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select workspace_id, id, gen_random_uuid(), 'waiting', 0, 3, 1000, now() - n * interval '1 millisecond', now(), '1'
      from lane, generate_series(1, ${jobs}::int) n where name = 'waiting-1'`,
  );
