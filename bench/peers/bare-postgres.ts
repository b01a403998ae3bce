import pg from "pg";
import { binaryTextArray, DatabaseClock, plainArray, systemRandom, UuidSource } from "../../packages/server/src/kernel/index.ts";
import { carryOut, concurrently, FEW, LIST, LISTS, PAYLOAD, TAKEN } from "../client-orders.ts";

/**
 * PostgreSQL with nothing around it, as a floor: jobs go eager into a table with the columns of `job`, are claimed, and are moved to one with
 * the columns of `job_history`. No limits, counts or queues. The tables have only primary keys; with BENCH_INDEXED they have all indexes and
 * constraints of the real ones, and claims go in the order of priorities.
 */
const IS_INDEXED = Boolean(process.env.BENCH_INDEXED);
const SETTINGS = "-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off -c enable_sort=off -c synchronous_commit=on";
const WORKSPACE = "01900000-0000-7000-8000-000000000000";
/** Claims and settles under way at the same time. */
const CLAIMS = 2;

const [SCHEMA, LIKE, KEY] = IS_INDEXED
  ? ["bare_indexed", "including all", ""]
  : ["bare", "including defaults", ", primary key (workspace_id, lane_id, id)"];
const TABLES = `
  create schema if not exists ${SCHEMA};
  create table if not exists ${SCHEMA}.waiting (like tidemill.job ${LIKE}${KEY});
  create table if not exists ${SCHEMA}.finished (like tidemill.job_history ${LIKE}${KEY});`;

const INSERT = `
  insert into ${SCHEMA}.waiting (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
  select $1, 1, n.id, 'waiting', 0, 3, 1000, now(), now(), n.payload from unnest($2::uuid[], $3::text[]) n (id, payload)`;

/** By the primary key, a claim begins after the last one ($2), so that it passes over no rows. */
const NEXT = IS_INDEXED
  ? "and $2::uuid is not null and (concurrency_key is null or key_slot is not null) order by workspace_id, lane_id, priority desc, run_at, id"
  : "and id > $2 order by workspace_id, lane_id, id";
const CLAIM = `
  update ${SCHEMA}.waiting j set state = 'active', attempt = attempt + 1, lease_id = 1, lease_until = now() + interval '30 s', started_at = now()
  from (
    select ctid from ${SCHEMA}.waiting where workspace_id = $1 and lane_id = 1 and state = 'waiting' ${NEXT} limit $3 for update skip locked
  ) next
  where j.ctid = next.ctid returning j.id, j.payload`;

const COLUMNS =
  "workspace_id, lane_id, id, kind, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at, started_at, payload";
const SETTLE = `
  with gone as (
    delete from ${SCHEMA}.waiting j using unnest($2::uuid[]) s (id)
    where j.workspace_id = $1 and j.lane_id = 1 and j.id = s.id returning j.*
  )
  insert into ${SCHEMA}.finished (${COLUMNS}, state, finished_at, attempts_log, expires_at)
  select ${COLUMNS}, 'completed', now(), '', now() + interval '7 days' from gone`;

const ids = new UuidSource(new DatabaseClock(), systemRandom);
const payload = JSON.stringify(PAYLOAD);
let lastClaimed = WORKSPACE;

carryOut(async ({ kind, url, jobs }) => {
  const connections = kind === "work" ? CLAIMS : LISTS;
  const pool = new pg.Pool({ ...JSON.parse(url), options: SETTINGS, max: connections });
  const opened = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  await opened[0]?.query(TABLES);
  for (const one of opened) one.release();
  const run = { enqueue: () => insert(pool, jobs, FEW), enqueueMany: () => insert(pool, jobs, LIST), work: () => work(pool, jobs) };
  return { run: run[kind], close: () => pool.end() };
});

function insert(pool: pg.Pool, jobs: number, size: number): Promise<void> {
  const payloads = Array.from({ length: size }, () => payload);
  return concurrently(LISTS, Math.ceil(jobs / size), () => {
    const values = [WORKSPACE, plainArray(payloads.map(() => ids.next())), binaryTextArray(payloads)];
    return pool.query({ name: "insert", text: INSERT, values });
  });
}

async function work(pool: pg.Pool, jobs: number): Promise<void> {
  let left = jobs;
  const workOn = async () => {
    while (left > 0) {
      const { rows } = await pool.query({ name: "claim", text: CLAIM, values: [WORKSPACE, lastClaimed, TAKEN] });
      if (rows.length === 0) break;
      for (const { id } of rows) if (id > lastClaimed) lastClaimed = id;
      await pool.query({ name: "settle", text: SETTLE, values: [WORKSPACE, plainArray(rows.map(({ id }) => id))] });
      left -= rows.length;
    }
  };
  await Promise.all(Array.from({ length: CLAIMS }, workOn));
}
