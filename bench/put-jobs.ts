import { setTimeout as wait } from "node:timers/promises";
import { type Db, row, rows, sql } from "../packages/server/src/kernel/index.ts";
import type { LaneKey } from "../packages/server/src/lanes/index.ts";
import { correctCounts, insertJobs } from "./insert-jobs.ts";

/** A queue to insert directly into the database. */
export interface QueueToPut {
  readonly name: string;
  readonly url: string;
  readonly paused?: boolean;
  readonly concurrency?: number;
  readonly concurrencyPerKey?: number;
  readonly rate?: { readonly max: number; readonly perSeconds: number };
}

/**
 * How jobs get their concurrency keys: none, the same for all, `count` keys in turn, or `count` keys with Zipf frequencies (the nth key
 * is as frequent as 1/n).
 */
export type Keys = { readonly kind: "none" | "one" } | { readonly kind: "uniform" | "zipf"; readonly count: number };

/** Inserts a queue into the only workspace. */
export async function putQueue(
  db: Db,
  { name, url, paused = false, concurrency, concurrencyPerKey = 1, rate }: QueueToPut,
): Promise<LaneKey> {
  const lane = await row<LaneKey>(
    db,
    sql`
      with l as (
        insert into lane (workspace_id, kind, name, served, paused, concurrency, concurrency_per_key, rate_max, rate_seconds)
        select id, 'queue', ${name}, 'push', ${paused}, ${concurrency}, ${concurrencyPerKey}, ${rate?.max}, ${rate?.perSeconds} from workspace
        returning workspace_id, id
      )
      insert into queue (workspace_id, id, callback_url, callback_secret) select workspace_id, id, ${url}, 'cbs_' || repeat('x', 43) from l
      returning workspace_id as "workspaceId", id as "laneId"`,
  );
  if (!lane) throw new Error("There is no workspace.");
  return lane;
}

/** Inserts waiting jobs into an empty lane, and assigns their key slots. */
export const putJobs = (db: Db, { workspaceId, laneId }: LaneKey, jobs: number, keys: Keys = { kind: "none" }): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, concurrency_key, key_slot,
        payload)
      select ${workspaceId}, ${laneId}, gen_random_uuid(), 'waiting', 0, 3, 1000, now() - (${jobs}::int - n) * interval '1 millisecond', now(), key,
        case when place <= q.concurrency_per_key then place end, '{"to":"ada@example.com"}'
      from (
        select n, key, case when key is not null then row_number() over (partition by key order by n) end as place
        from generate_series(1, ${jobs}::int) n
        cross join lateral (
          select case ${keys.kind}
            when 'one' then 'key'
            when 'uniform' then 'key-' || n % ${"count" in keys ? keys.count : 1}::int
            when 'zipf' then 'key-' || floor(power(${"count" in keys ? keys.count : 1}::float8, (n * 0.6180339887498949 % 1)::float8))
          end as key
        ) of_job
      ) placed
      join lane q on q.workspace_id = ${workspaceId} and q.id = ${laneId}`,
  );

/** Inserts queues with waiting jobs. Their names begin with `prefix`. */
export const putFullQueues = (
  db: Db,
  { prefix, queues, jobs, url, paused }: { prefix: string; queues: number; jobs: number; url: string; paused: boolean },
): Promise<unknown> =>
  insertJobs(
    db,
    sql`
      with made as (
        insert into lane (workspace_id, kind, name, served, paused)
        select id, 'queue', ${prefix}::text || n, 'push', ${paused} from workspace, generate_series(1, ${queues}::int) n
        returning workspace_id, id
      ), queues as (
        insert into queue (workspace_id, id, callback_url, callback_secret) select workspace_id, id, ${url}, 'cbs_' || repeat('x', 43) from made
      )
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select workspace_id, made.id, gen_random_uuid(), 'waiting', 0, 3, 1000, now() - n * interval '1 millisecond', now(), '{"to":"ada@example.com"}'
      from made, generate_series(1, ${jobs}::int) n`,
  );

/** Pauses or resumes the queues whose names begin with `prefix`. Nodes notice it at their next poll. */
export const setPaused = (db: Db, prefix: string, paused: boolean): Promise<unknown> =>
  rows(db, sql`update lane set paused = ${paused} where starts_with(name, ${prefix})`);

export async function untilNoneActive(db: Db): Promise<void> {
  while (await row(db, sql`select from job where state = 'active' limit 1`)) await wait(50);
}

/** Deletes all jobs, and the queues whose names begin with `prefix`. No job may be active. */
export async function clearJobs(db: Db, prefix: string): Promise<void> {
  await rows(db, sql`truncate job, job_history`);
  await rows(db, sql`delete from lane where starts_with(name, ${prefix})`);
  await correctCounts(db);
  await vacuumAnalyze(db);
}

/** Updates the planner's statistics, and removes dead rows. */
export async function vacuumAnalyze(db: Db): Promise<void> {
  await rows(db, sql`vacuum analyze job`);
  await rows(db, sql`vacuum analyze lane`);
}
