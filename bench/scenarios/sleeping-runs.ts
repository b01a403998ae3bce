import { setTimeout as wait } from "node:timers/promises";
import { type WorkflowContext, workflow } from "@tidemill/sdk";
import { Database, Fragment, row, rows, sql } from "../../packages/server/src/kernel/index.ts";
import type { LaneKey } from "../../packages/server/src/lanes/index.ts";
import { register } from "../../packages/server/test/harness/node-leases.ts";
import { fillQueue, release, TAKE, timeClaim } from "../claims.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { insertJobs } from "../insert-jobs.ts";
import { type Figure, median, quantile } from "../table.ts";
import { withWorker } from "../with-worker.ts";

/** Half of them sleep, the others wait for a signal. */
const RUNS = 1_000_000;
const CLAIMS = 200;
const NAPS = 100;
/** Runs wake one by one, this far apart. Milliseconds. */
const APART_MS = 53;
/** Until the first one wakes, all are asleep. Milliseconds. */
const ASLEEP_MS = 2_000;
const BAR_CLAIM = 1.5;
const BAR_LATE_MS = 10;

/** What runs that sleep or wait cost others: claims of a queue beside them, and how late one of them wakes. */
export async function sleepingRuns(environment: Environment): Promise<Figure[]> {
  const database = new Database({ connection: environment.connection, size: 2, statementTimeoutMs: 600_000 });
  const node = await environment.node();
  const lane = await fillQueue(node, database, environment.queueName(), 1_000);
  await suspendOne(node, environment.key, database);
  const lateAlone = await timeNaps(node, environment.key);
  await node.stop();
  const alone = await timeClaims(database, lane);
  await multiply(database);
  const beside = await timeClaims(database, lane);
  const again = await environment.node();
  const lateBeside = await timeNaps(again, environment.key);
  await again.stop();
  await database.close();
  const ratio = median(beside) / median(alone);
  const late = (ms: readonly number[]) => `${quantile(ms, 0.5).toFixed(1)} ms p50, ${quantile(ms, 0.99).toFixed(1)} ms p99`;
  return [
    {
      name: `claim of ${TAKE} jobs beside 1,000,000 runs that sleep or wait`,
      measured: `${median(beside).toFixed(2)} ms`,
      yardstick: `${median(alone).toFixed(2)} ms without`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR_CLAIM}`,
      met: ratio <= BAR_CLAIM,
    },
    {
      name: "a run wakes beside them: how late its program continues",
      measured: late(lateBeside),
      yardstick: `${late(lateAlone)} without`,
      ratio: "",
      bar: `≤ ${BAR_LATE_MS} ms p50`,
      met: quantile(lateBeside, 0.5) <= BAR_LATE_MS,
    },
  ];
}

/** Leaves one run that sleeps and one that waits for a signal. */
async function suspendOne(node: BenchNode, key: string, database: Database): Promise<void> {
  const sleeps = workflow({ id: "sleeps" }, ({ step }) => step.sleep("a month", "30d"));
  const waits = workflow({ id: "waits" }, ({ step, run }) => step.waitForSignal("an order", { signal: `order-${run.id}`, timeout: "30d" }));
  await withWorker(node, key, [sleeps, waits], async (client) => {
    for (const { id } of [sleeps, waits]) await client.workflows.trigger(id, { input: null });
    while ((await rows(database, sql`select from run where status in ('sleeping', 'waiting')`)).length < 2) await wait(20);
  });
}

/** Copies these two runs, with all that they have in the database. Copies resume at any time in the next month. */
async function multiply(database: Database): Promise<void> {
  const copied = async (table: string, idColumn: string, changed: Readonly<Record<string, string>>): Promise<Fragment> => {
    const { columns } = (await row<{ columns: string[] }>(
      database,
      sql`
        select array_agg(attname::text) as columns from pg_attribute
        where attrelid = ${`tidemill.${table}`}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    )) ?? { columns: [] };
    const values = columns.map((column) => changed[column] ?? `t.${column}`);
    return new Fragment(`insert into ${table} (${columns}) select ${values} from copies c join ${table} t
      on t.workspace_id = c.workspace_id and t.${idColumn} = c.of`);
  };
  const signal = "'order-' || c.id";
  const runs = await copied("run", "id", { id: "c.id" });
  const steps = await copied("run_step", "run_id", {
    run_id: "c.id",
    wake_at: "c.at",
    signal: `case when t.signal is not null then ${signal} end`,
  });
  const signals = await copied("signal", "run_id", { id: signal, run_id: "c.id" });
  const jobs = await copied("job", "id", { id: "c.id", run_at: "c.at" });
  await insertJobs(
    database,
    sql`
      with copies as materialized (
        select r.workspace_id, r.id as of, gen_random_uuid() as id, now() + interval '1 hour' + random() * interval '30 days' as at
        from run r, generate_series(1, ${RUNS / 2 - 1}::int) where r.status in ('sleeping', 'waiting')
      ), runs as (${runs}), steps as (${steps}), signals as (${signals})
      ${jobs}`,
  );
  const found = await row<{ runs: number }>(database, sql`select count(*) as runs from run where status in ('sleeping', 'waiting')`);
  if (found?.runs !== RUNS) throw new Error(`${found?.runs} runs sleep or wait.`);
  for (const statement of [sql`vacuum analyze job`, sql`vacuum analyze run`, sql`vacuum analyze run_step`, sql`vacuum analyze signal`]) {
    await rows(database, statement);
  }
}

async function timeClaims(database: Database, lane: LaneKey): Promise<number[]> {
  const setPaused = (paused: boolean) => rows(database, sql`update lane set paused = ${paused} where id = ${lane.laneId}`);
  const lease = await register(database, 3_600);
  if (!lease) throw new Error("No lease was granted.");
  await setPaused(false);
  const took: number[] = [];
  for (let round = 0; round < CLAIMS; round += 1) {
    took.push(await timeClaim(database, lease.id, lane));
    await release(database, lane);
  }
  await setPaused(true);
  return took;
}

/** Starts runs that sleep until a time of their own. Returns how late their programs went on. Milliseconds. */
async function timeNaps(node: BenchNode, key: string): Promise<number[]> {
  const late: number[] = [];
  const all = Promise.withResolvers<void>();
  const nap = workflow({ id: "nap" }, async ({ input: until, step }: WorkflowContext<number>) => {
    await step.sleepUntil("nap", new Date(until));
    late.push(Date.now() - until);
    if (late.length === NAPS) all.resolve();
  });
  await withWorker(node, key, [nap], async (client) => {
    const firstMs = Date.now() + ASLEEP_MS;
    await Promise.all(Array.from({ length: NAPS }, (_, at) => client.workflows.trigger("nap", { input: firstMs + at * APART_MS })));
    await all.promise;
  });
  return late;
}
