import { setTimeout as wait } from "node:timers/promises";
import { row, rows, sql } from "../../packages/server/src/kernel/index.ts";
import { findNextDueAcrossWorkspaces } from "../../packages/server/src/schedules/fire-store.ts";
import { readProcessor } from "../processor.ts";
import { clearSchedules, putSchedules } from "../put-schedules.ts";
import { type Figure, median } from "../table.ts";
import type { BenchNode, Yard } from "../yard.ts";

const FEW = 100;
const MANY = 100_000;
const ROUNDS = 3;
const SECONDS = 10;
const SETTLE_SECONDS = 4;
const LOOKS = 2_000;
const HOUR_MS = 3_600_000;
/** Of a figure that chance moves. */
const BAR = 1.2;

interface Cost {
  readonly nodeCpu: number;
  readonly postgresCpu: number;
  readonly statements: number;
  readonly lookMs: number;
  readonly lookBuffers: number;
}

/** What 100,000 schedules of which none is due cost, against 100 of them: a node, its PostgreSQL, and the look for the next tick. */
export async function schedulesIdle(yard: Yard): Promise<Figure[]> {
  const node = await yard.node();
  const queue = yard.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const costs = new Map<number, Cost[]>([
    [FEW, []],
    [MANY, []],
  ]);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const count of round % 2 === 0 ? [FEW, MANY] : [MANY, FEW]) {
      costs.get(count)?.push(await measure(yard, node, queue, count));
    }
  }
  await clearSchedules(yard);
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
    // It is read in hundredths of a second.
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
    // The tree of more entries has another level, or two.
    figure(
      "buffers that a look touches",
      ({ lookBuffers }) => lookBuffers,
      (value) => value.toFixed(0),
      2,
    ),
  ];
}

async function measure(yard: Yard, node: BenchNode, queue: string, count: number): Promise<Cost> {
  await clearSchedules(yard);
  await putSchedules(yard, { queues: [queue], count, cron: "30 2 * * *", firstMs: nowMs() + HOUR_MS, spreadSeconds: 24 * 3_600 });
  await rows(yard.database, sql`vacuum analyze schedule`);
  const looks = { lookMs: await timeLook(yard), lookBuffers: await countBuffers(yard) };
  // What writing so many leaves to be done is not what having them costs.
  await rows(yard.database, sql`checkpoint`);
  await wait(SETTLE_SECONDS * 1_000);
  // PostgreSQL counts what a session has done when it next does something: here our own looks.
  await reading(yard, node);
  await wait(1_000);
  const before = await reading(yard, node);
  await wait(SECONDS * 1_000);
  const after = await reading(yard, node);
  const per = (of: (one: typeof before) => number) => (of(after) - of(before)) / SECONDS;
  return {
    nodeCpu: per(({ nodes }) => nodes),
    postgresCpu: per(({ postgres }) => postgres),
    statements: per(({ transactions }) => transactions),
    ...looks,
  };
}

async function reading(yard: Yard, node: BenchNode) {
  const counted = await row<{ n: number }>(
    yard.database,
    sql`select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`,
  );
  return { ...(await readProcessor(yard.connection.host, [node])), transactions: counted?.n ?? 0 };
}

async function timeLook(yard: Yard): Promise<number> {
  const took: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const startedMs = performance.now();
    await findNextDueAcrossWorkspaces(yard.database);
    took.push(performance.now() - startedMs);
  }
  return median(took);
}

/** Of the same statement as a node's look: its text cannot be had from there. */
async function countBuffers(yard: Yard): Promise<number> {
  const plan = await row<{ "QUERY PLAN": [{ Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } }] }>(
    yard.database,
    sql`
      explain (analyze, buffers, format json)
      select (extract(epoch from next_run_at - moment()) * 1000)::float8 as in_ms from schedule
      where not paused and next_run_at is not null order by next_run_at limit 1`,
  );
  const top = plan?.["QUERY PLAN"][0].Plan;
  return (top?.["Shared Hit Blocks"] ?? Number.NaN) + (top?.["Shared Read Blocks"] ?? Number.NaN);
}

const nowMs = () => performance.timeOrigin + performance.now();
