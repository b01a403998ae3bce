import { rows, sql } from "../../packages/server/src/kernel/index.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { insertJobs } from "../insert-jobs.ts";
import { putSchedules } from "../put-schedules.ts";

const APPROVALS = 20_000;
const SCHEDULES = 5_000;
const RUNS = 100_000;
const WORKERS = 1_000;
const SCHEDULE_FIRST_MS = 86_400_000;

/** Inserts what the other pages list: approvals, schedules, runs of workflows and workers, as a large workspace has. */
export async function putRecords(environment: Environment, node: BenchNode): Promise<void> {
  await node.api("POST", "/v1/queues", { name: "approved-1", type: "approval", approval: { timeout: 86_400, on_timeout: "reject" } });
  await node.api("PUT", "/v1/workflows/order.fulfil", {});
  await putApprovals(environment);
  await putSchedules(environment, {
    queues: ["approved-1"],
    count: SCHEDULES,
    cron: "30 2 * * *",
    firstMs: Date.now() + SCHEDULE_FIRST_MS,
    spreadSeconds: 3_600,
  });
  await putRuns(environment);
  await putWorkers(environment);
  await rows(environment.database, sql`vacuum analyze`);
}

const putApprovals = ({ database }: Environment): Promise<unknown> =>
  insertJobs(
    database,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, decide_at, tag, payload)
      select workspace_id, id, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        'pending_approval', 0, 3, 1000, now(), now(), now() + interval '1 day', 'refund', '{"order":' || n || '}'
      from lane, generate_series(1, ${APPROVALS}::int) n where name = 'approved-1'`,
  );

const putRuns = ({ database }: Environment): Promise<unknown> =>
  rows(
    database,
    sql`
      insert into run (workspace_id, lane_id, id, status, attempts, input, result, error, trigger, created_at, started_at, ended_at, expires_at)
      select workspace_id, id, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 19))::uuid,
        case when n % 10 = 0 then 'failed' else 'completed' end::run_status, 3, '{"order":' || n || '}',
        case when n % 10 > 0 then '{"shipped":true}' end, case when n % 10 = 0 then '{"name":"Error","message":"There is no stock."}' end,
        '{"type":"api"}', at, at, at, now() + interval '30 days'
      from lane, generate_series(1, ${RUNS}::int) n cross join lateral (select now() - n * interval '10 seconds' as at) t
      where name = 'order.fulfil' and kind = 'workflow'`,
  );

const putWorkers = ({ database }: Environment): Promise<unknown> =>
  rows(
    database,
    sql`
      with lease as (
        insert into lease (holder, workspace_id, worker, expires_at)
        select 'worker', id, 'worker-' || n, now() + interval '1 hour' from workspace, generate_series(1, ${WORKERS}::int) n returning id
      )
      insert into worker (lease_id, version, queues, last_seen_at) select id, '1.0.0', array['mixed-1'], now() from lease`,
  );
