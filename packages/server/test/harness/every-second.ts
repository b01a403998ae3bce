import type { Cluster } from "./cluster.ts";

const WORKSPACES = 4;
const QUEUES = 5;
const SCHEDULES = 50;

/** A schedule for each of 50 names, 5 queues and 4 workspaces. Their first ticks are two to six seconds from now. */
const PUT = [
  `insert into workspace (id, name, plan, executions_per_month)
   select gen_random_uuid(), 'seconds', 'enterprise', case when n = 1 then 1000000 end from generate_series(1, ${WORKSPACES}) n`,
  `with l as (insert into lane (workspace_id, kind, name, served) select w.id, 'queue', 'queue-' || n, 'pull' from workspace w, generate_series(1, ${QUEUES}) n where w.name = 'seconds' returning workspace_id, id) insert into queue (workspace_id, id) select workspace_id, id from l`,
  `insert into schedule (workspace_id, name, lane_id, cron, timezone, payload, overlap, catch_up, next_run_at)
   select workspace_id, name || '-' || n, id, '* * * * * *', 'UTC', '1', 'allow', 'all', date_trunc('second', now()) + (2 + n % 5) * interval '1 second'
   from lane, generate_series(1, ${SCHEDULES}) n`,
  "create table first_tick as select workspace_id, id as schedule_id, lane_id, name, next_run_at as first_at from schedule",
];

const EXPECTED = `
  create table expected as
  select f.workspace_id, f.schedule_id, f.lane_id, f.name, tick_at
  from first_tick f join schedule s on s.workspace_id = f.workspace_id and s.id = f.schedule_id,
    generate_series(f.first_at, s.next_run_at - interval '1 second', '1 second') tick_at`;

/** Pairs of queries that must return the same rows, with the same number of duplicates. */
const PAIRS = {
  jobs: [
    "select workspace_id, lane_id, name, tick_at from expected",
    "select workspace_id, lane_id, schedule, scheduled_for from job_record",
  ],
  // Ticks older than a minute are deleted.
  ticks: [
    "select workspace_id, schedule_id, tick_at from expected where tick_at > (select max(tick_at) - interval '45 seconds' from expected)",
    "select workspace_id, schedule_id, tick_at from schedule_tick where tick_at > (select max(tick_at) - interval '45 seconds' from expected)",
  ],
  usage: [
    "select workspace_id, lane_id, count(*) from expected group by 1, 2",
    "select workspace_id, lane_id, sum(schedules) from usage group by 1, 2 having sum(schedules) + sum(jobs) > 0",
  ],
  quota: [
    "select workspace_id, count(*) from expected join workspace w on w.id = workspace_id and executions_per_month is not null group by 1",
    "select workspace_id, sum(used) from quota_month group by 1",
  ],
} as const;

/**
 * A thousand schedules that fire every second, with `catch_up` `all`, in their own database. Their ticks are known without a calendar.
 * Their jobs keep waiting, because the queues have no callback. One of the four workspaces has a quota. Schedules of different
 * workspaces have the same names.
 */
export class EverySecond {
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  static async put(cluster: Cluster): Promise<EverySecond> {
    for (const statement of PUT) await cluster.query(statement);
    return new EverySecond(cluster);
  }

  /** Whether a transaction that takes ticks is in progress. */
  async areFiring(): Promise<boolean> {
    const found = await this.#cluster.query(
      "select from pg_locks where relation = 'schedule_tick'::regclass and mode = 'RowExclusiveLock' and granted limit 1",
    );
    return found.length > 0;
  }

  /** Whether all schedules have taken every tick up to a moment. @param ms milliseconds since 1970 */
  async hasTaken(ms: number): Promise<boolean> {
    const found = await this.#cluster.query(
      `select from schedule having count(*) = ${WORKSPACES * QUEUES * SCHEDULES} and min(next_run_at) > to_timestamp($1::float8 / 1000)`,
      [ms],
    );
    return found.length > 0;
  }

  /**
   * Finds what is missing or too much. Each schedule must have one job, one recorded tick and one counted execution for each second from
   * its first tick to its last. Returns up to twenty differences of each kind. Call it when nothing fires any more.
   */
  async differences(): Promise<{ kind: string; rows: string[] }[]> {
    await this.#cluster.query(EXPECTED);
    const differences = [];
    for (const [kind, [expected, found]] of Object.entries(PAIRS)) {
      const rows = await this.#cluster.query<{ row: string }>(
        `select 'missing ' || m::text as row from (${expected} except all ${found}) m
         union all select 'too much ' || t::text from (${found} except all ${expected}) t limit 20`,
      );
      if (rows.length > 0) differences.push({ kind, rows: rows.map(({ row }) => row) });
    }
    return differences;
  }
}
