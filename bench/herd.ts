import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../packages/server/src/kernel/index.ts";
import type { Journey, PacedQueue } from "./paced.ts";
import type { Peer } from "./processes.ts";
import { type Processor, readProcessor } from "./processor.ts";
import { clearSchedules, putSchedules } from "./put-schedules.ts";
import type { BenchNode, Yard } from "./yard.ts";

const SCHEDULES = 10_000;
/** What the herd is given to be over. */
export const BAR_SECONDS = 10;

const PER_SECOND = 100;
const QUIET_SECONDS = 12;
/** At the start of the quiet time the schedules are still being written. */
const SETTLE_SECONDS = 4;
const GIVE_UP_SECONDS = 60;

/** One herd: moments are milliseconds after the minute. */
export interface Herd {
  readonly firedMs: number;
  readonly deliveredMs: number;
  readonly once: boolean;
  readonly before: readonly number[];
  readonly during: readonly number[];
  /** Per tick, its callback with it, above what the paced jobs took before. Microseconds. */
  readonly cost: Processor;
}

/** Where a herd runs. */
export interface Course {
  readonly nodes: readonly BenchNode[];
  readonly receiver: Peer;
  readonly paced: PacedQueue;
  readonly queues: readonly string[];
}

/** Makes 10,000 schedules due at one moment, once it has been quiet, and watches what becomes of them. */
export async function runHerd(yard: Yard, { nodes, receiver, paced, queues }: Course): Promise<Herd> {
  const requests = async () => (await receiver.ask<{ requests: number }>({})).requests;
  const processor = () => readProcessor(yard.connection.host, nodes);
  const requestsBefore = await requests();
  const minuteMs = Math.ceil(nowMs() / 1_000 + QUIET_SECONDS) * 1_000;
  await putSchedules(yard, { queues, count: SCHEDULES, cron: onceAYear(minuteMs), firstMs: minuteMs, spreadSeconds: 0 });
  const journeys = paced.run(PER_SECOND, QUIET_SECONDS + BAR_SECONDS);
  await wait(SETTLE_SECONDS * 1_000);
  const settled = { atMs: nowMs(), ...(await processor()) };
  await wait(minuteMs - nowMs());
  const atMinute = await processor();
  const firedMs = (await untilHolds(() => allFired(yard, minuteMs))) - minuteMs;
  const doneMs = await untilHolds(async () => (await requests()) - requestsBefore >= SCHEDULES);
  const done = await processor();
  const all = await journeys;
  const during = (of: (one: Processor) => number) => {
    const quiet = (of(atMinute) - of(settled)) / (minuteMs - settled.atMs);
    return ((of(done) - of(atMinute) - quiet * (doneMs - minuteMs)) / SCHEDULES) * 1e6;
  };
  const delivered = await untilSettled(yard, minuteMs);
  const once = delivered === SCHEDULES && (await requests()) - requestsBefore === SCHEDULES;
  await clearSchedules(yard);
  return {
    firedMs,
    deliveredMs: doneMs - minuteMs,
    once,
    before: latencies(all, settled.atMs, minuteMs),
    during: latencies(all, minuteMs, doneMs),
    cost: { nodes: during((one) => one.nodes), postgres: during((one) => one.postgres) },
  };
}

/** A cron expression that matches at that moment, and not again for a year. */
function onceAYear(ms: number): string {
  const at = new Date(ms);
  return [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, "*"].join(" ");
}

const nowMs = () => performance.timeOrigin + performance.now();

/** The way from enqueue to handler, in milliseconds, of jobs that were sent from a moment until another one. */
const latencies = (journeys: readonly Journey[], fromMs: number, untilMs: number): number[] =>
  journeys
    .filter(({ sentMs }) => sentMs + performance.timeOrigin >= fromMs && sentMs + performance.timeOrigin < untilMs)
    .map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);

/** When it was first seen to hold, or given up; milliseconds since 1970. */
async function untilHolds(holds: () => Promise<boolean>): Promise<number> {
  const untilMs = nowMs() + GIVE_UP_SECONDS * 1_000;
  while (nowMs() < untilMs && !(await holds())) await wait(20);
  return nowMs();
}

const allFired = async ({ database }: Yard, minuteMs: number): Promise<boolean> =>
  (await row(database, sql`select from schedule where not paused and next_run_at <= to_timestamp(${minuteMs}::float8 / 1000) limit 1`)) ===
  null;

/** How many schedules have exactly one job for that moment, completed at the first attempt, once none is under way. */
async function untilSettled({ database }: Yard, minuteMs: number): Promise<number> {
  await untilHolds(async () => (await row(database, sql`select from job where schedule is not null limit 1`)) === null);
  const counted = await row<{ n: number; all: number }>(
    database,
    sql`
      select count(distinct schedule) filter (where attempt = 1 and state = 'completed')::int as n, count(*)::int as all from job_history
      where scheduled_for = to_timestamp(${minuteMs}::float8 / 1000)`,
  );
  return counted && counted.n === counted.all ? counted.n : Number.NaN;
}
