import { type Db, rows, sql } from "../../packages/server/src/kernel/index.ts";
import { insertJobs } from "../insert-jobs.ts";
import { vacuumAnalyze } from "../put-jobs.ts";

const QUEUES = 20;
/** Failed jobs have one of so many messages, in five codes. */
const MESSAGES = 300;

/** The queues of these jobs are `mixed-1` to `mixed-20`. */
export const MIXED_QUEUE = "mixed-1";

/**
 * Inserts jobs as they may lie in a workspace of 20 queues, one in each second until now: a fifth failed, three in ten finished, the rest waiting
 * or delayed.
 */
export async function putMixedJobs(db: Db, jobs: number): Promise<void> {
  await putQueues(db, "mixed-", QUEUES);
  const live = Math.floor(jobs * 0.7);
  await putLive(db, live);
  await putHistory(db, jobs - live, live);
  await vacuumAnalyze(db);
  await rows(db, sql`vacuum analyze job_history`);
}

/** Inserts jobs that wait in one queue, `waiting-1`, which nobody serves. */
export async function putWaitingJobs(db: Db, jobs: number): Promise<void> {
  await putQueues(db, "waiting-", 1);
  await insertJobs(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select workspace_id, id, gen_random_uuid(), 'waiting', 0, 3, 1000, now() - n * interval '1 millisecond', now(), '1'
      from lane, generate_series(1, ${jobs}::int) n where name = 'waiting-1'`,
  );
  await vacuumAnalyze(db);
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

/** Ids are UUIDs of version 7, as ids of jobs are. */
const putLive = (db: Db, jobs: number): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      with error as materialized (
        select n as number, code, text, (failure_of_error(null, text)).fingerprint
        from generate_series(0, ${MESSAGES}::int - 1) n
        cross join lateral (select (array['HTTP_STATUS', 'TIMEOUT', 'CONNECTION', 'DNS', 'WORKER'])[1 + n % 5] as code) c
        cross join lateral (
          select json_build_object('code', code, 'message', 'Customer ' || translate(md5(n::text), '0123456789', 'ghijklmnop') || ' has no address.',
            'status', case when n % 5 = 0 then 500 end)::text as text) t
      ), lanes as (
        select workspace_id, array_agg(id order by id) as ids from lane where starts_with(name, 'mixed-') group by workspace_id
      )
      insert into job (workspace_id, lane_id, id, state, priority, attempt, attempts, backoff_delay_ms, run_at, created_at, finished_at, tag,
        concurrency_key, last_error, error_code, fingerprint, payload)
      select l.workspace_id, l.ids[1 + n % ${QUEUES}::int],
        (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        s.state::job_state, 0, case when s.state = 'failed' then 3 else 0 end, 3, 1000, at + case when s.state = 'delayed' then interval '60 days' else '0' end,
        at, case when s.state = 'failed' then at + interval '10 seconds' end, 'tag-' || n % 50, 'customer-' || n % 1000,
        e.text, e.code, e.fingerprint, '{"to":"ada@example.com","order":' || n || '}'
      from generate_series(1, ${jobs}::int) n cross join lanes l
      cross join lateral (select now() - (${jobs}::int - n) * interval '1 second' as at) t
      cross join lateral (select case when n % 7 < 2 then 'failed' when n % 7 = 2 then 'delayed' else 'waiting' end as state) s
      left join error e on s.state = 'failed' and e.number = n / 7 % ${MESSAGES}::int`,
  );

/** Jobs that finished before those that are live. */
const putHistory = (db: Db, jobs: number, later: number): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into job_history (workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
        started_at, finished_at, tag, concurrency_key, payload, attempts_log, expires_at)
      select l.workspace_id, l.ids[1 + n % ${QUEUES}::int],
        (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        'queue', 'completed', 0, 1, 0, 3, 1000, at, at, at, at, 'tag-' || n % 50, 'customer-' || n % 1000, '{"to":"ada@example.com","order":' || n || '}',
        '', now() + interval '30 days'
      from generate_series(1, ${jobs}::int) n
      cross join (select workspace_id, array_agg(id order by id) as ids from lane where starts_with(name, 'mixed-') group by workspace_id) l
      cross join lateral (select now() - (${later}::int + ${jobs}::int - n) * interval '1 second' as at) t`,
  );
