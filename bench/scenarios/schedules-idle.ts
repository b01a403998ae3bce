import { setTimeout as wait } from "node:timers/promises";
import { row, rows, sql } from "../../packages/server/src/kernel/index.ts";
import { findNextDueAcrossWorkspaces } from "../../packages/server/src/schedules/fire-store.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { readProcessor } from "../processor.ts";
import { clearSchedules, putSchedules } from "../put-schedules.ts";
import { type Figure, median } from "../table.ts";

const FEW = 100;
const MANY = 100_000;
const ROUNDS = 3;
const SECONDS = 10;
const SETTLE_SECONDS = 4;
const LOOKS = 2_000;
const HOUR_MS = 3_600_000;
/** Above 1, because the figures vary from run to run. */
const BAR = 1.2;

interface Cost {
  readonly nodeCpu: number;
  readonly postgresCpu: number;
  readonly statements: number;
  readonly lookMs: number;
  readonly lookBuffers: number;
}

/** What 100,000 schedules cost while none is due, against 100: the node, its PostgreSQL, and the query for the next tick. */
export async function schedulesIdle(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const costs = new Map<number, Cost[]>([
    [FEW, []],
    [MANY, []],
  ]);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const count of round % 2 === 0 ? [FEW, MANY] : [MANY, FEW]) {
      costs.get(count)?.push(await measure(environment, node, queue, count));
    }
  }
  await clearSchedules(environment);
  await node.stop();
  const figure = (name: string, of: (cost: Cost) => number, show: (value: number) => string, slack = 0): Figure => {
    const few = median(costs.get(FEW)?.map(of) ?? []);
    const many = median(costs.get(MANY)?.map(of) ?? []);
    return {
      name: `${MANY.toLocaleString("en-US")} schedules, none due: ${name}`,
      measured: show(many),
      yardstick: `${show(few)} with ${FEW}`,
      ratio: (many / few).toFixed(2),
      bar: slack === 0 ? `≤ ${BAR}` : `≤ ${BAR}, or ${show(slack)} more`,
      met: many <= Math.max(few * BAR, few + slack),
    };
  };
  const percent = (part: number) => `${(part * 100).toFixed(2)} % of a core`;
  return [
    figure("node's processor", ({ nodeCpu }) => nodeCpu, percent),
    // /proc counts in hundredths of a second.
    figure("PostgreSQL's processor", ({ postgresCpu }) => postgresCpu, percent, 0.02 / SECONDS),
    figure(
      "statements",
      ({ statements }) => statements,
      (value) => `${value.toFixed(1)} /s`,
    ),
    figure(
      "one look for the next tick",
      ({ lookMs }) => lookMs,
      (value) => `${(value * 1_000).toFixed(0)} µs`,
      0.02,
    ),
    // An index with more entries has one or two more levels.
    figure(
      "buffers that a look touches",
      ({ lookBuffers }) => lookBuffers,
      (value) => value.toFixed(0),
      2,
    ),
  ];
}

async function measure(environment: Environment, node: BenchNode, queue: string, count: number): Promise<Cost> {
  await clearSchedules(environment);
  await putSchedules(environment, { queues: [queue], count, cron: "30 2 * * *", firstMs: nowMs() + HOUR_MS, spreadSeconds: 24 * 3_600 });
  await rows(environment.database, sql`vacuum analyze schedule`);
  const looks = { lookMs: await timeLook(environment), lookBuffers: await countBuffers(environment) };
  // The work that follows from inserting the schedules is not counted.
  await rows(environment.database, sql`checkpoint`);
  await wait(SETTLE_SECONDS * 1_000);
  // PostgreSQL counts a session's transactions when the session does something next. Here these are our own queries.
  await reading(environment, node);
  await wait(1_000);
  const before = await reading(environment, node);
  await wait(SECONDS * 1_000);
  const after = await reading(environment, node);
  const per = (of: (one: typeof before) => number) => (of(after) - of(before)) / SECONDS;
  return {
    nodeCpu: per(({ nodes }) => nodes),
    postgresCpu: per(({ postgres }) => postgres),
    statements: per(({ transactions }) => transactions),
    ...looks,
  };
}

async function reading(environment: Environment, node: BenchNode) {
  const counted = await row<{ n: number }>(
    environment.database,
    sql`select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`,
  );
  return { ...(await readProcessor(environment.connection.host, [node])), transactions: counted?.n ?? 0 };
}

async function timeLook(environment: Environment): Promise<number> {
  const took: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const startedMs = performance.now();
    await findNextDueAcrossWorkspaces(environment.database);
    took.push(performance.now() - startedMs);
  }
  return median(took);
}

/** Buffers that a node's query for the next tick reads. Its statement is repeated here, because the store does not export the text. */
async function countBuffers(environment: Environment): Promise<number> {
  const plan = await row<{ "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } }] }>(
    environment.database,
    sql`
      explain (analyze, buffers, format json)
      select (extract(epoch from next_run_at - moment()) * 1000)::float8 as in_ms from schedule
      where not paused and next_run_at is not null order by next_run_at limit 1`,
  );
  const top = plan?.["QUERY PLAN"][0].Plan;
  return (top?.["Shared Hit Blocks"] ?? Number.NaN) + (top?.["Shared Read Blocks"] ?? Number.NaN);
}

const nowMs = () => performance.timeOrigin + performance.now();
