import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../packages/server/src/kernel/index.ts";
import type { BenchNode, Environment } from "./environment.ts";
import type { JobTimes, PacedQueue } from "./paced.ts";
import type { Peer } from "./processes.ts";
import { type Processor, readProcessor } from "./processor.ts";
import { clearSchedules, putSchedules } from "./put-schedules.ts";

const SCHEDULES = 10_000;
/** All schedules of a burst must have fired, and all callbacks must have arrived, within this time. */
export const BAR_SECONDS = 10;

const PER_SECOND = 100;
const QUIET_SECONDS = 12;
/** The start of the quiet time does not count: the schedules are still being written. */
const SETTLE_SECONDS = 4;
const GIVE_UP_SECONDS = 60;

/** The result of one burst. `firedMs` and `deliveredMs` count from the moment at which the schedules are due. */
export interface Burst {
  readonly firedMs: number;
  readonly deliveredMs: number;
  /** Whether each schedule created exactly one job, which completed at its first attempt. */
  readonly once: boolean;
  /** Milliseconds from enqueue to handler, of another queue's jobs before and during the burst. */
  readonly before: readonly number[];
  readonly during: readonly number[];
  /** Per tick with its callback, without what the paced jobs cost before the burst. Microseconds. */
  readonly cost: Processor;
}

/** What a burst runs on. */
export interface BurstOptions {
  readonly nodes: readonly BenchNode[];
  readonly receiver: Peer;
  readonly paced: PacedQueue;
  readonly queues: readonly string[];
}

/** Creates 10,000 schedules that are due at the same moment, after a quiet time, and measures how they fire. */
export async function runBurst(environment: Environment, { nodes, receiver, paced, queues }: BurstOptions): Promise<Burst> {
  const requests = async () => (await receiver.ask<{ requests: number }>({})).requests;
  const processor = () => readProcessor(environment.connection.host, nodes);
  const requestsBefore = await requests();
  const minuteMs = Math.ceil(nowMs() / 1_000 + QUIET_SECONDS) * 1_000;
  await putSchedules(environment, { queues, count: SCHEDULES, cron: onceAYear(minuteMs), firstMs: minuteMs, spreadSeconds: 0 });
  const times = paced.run(PER_SECOND, QUIET_SECONDS + BAR_SECONDS);
  await wait(SETTLE_SECONDS * 1_000);
  const settled = { atMs: nowMs(), ...(await processor()) };
  await wait(minuteMs - nowMs());
  const atMinute = await processor();
  const firedMs = (await untilHolds(() => allFired(environment, minuteMs))) - minuteMs;
  const doneMs = await untilHolds(async () => (await requests()) - requestsBefore >= SCHEDULES);
  const done = await processor();
  const all = await times;
  const during = (of: (one: Processor) => number) => {
    const quiet = (of(atMinute) - of(settled)) / (minuteMs - settled.atMs);
    return ((of(done) - of(atMinute) - quiet * (doneMs - minuteMs)) / SCHEDULES) * 1e6;
  };
  const delivered = await untilSettled(environment, minuteMs);
  const once = delivered === SCHEDULES && (await requests()) - requestsBefore === SCHEDULES;
  await clearSchedules(environment);
  return {
    firedMs,
    deliveredMs: doneMs - minuteMs,
    once,
    before: latencies(all, settled.atMs, minuteMs),
    during: latencies(all, minuteMs, doneMs),
    cost: { nodes: during((one) => one.nodes), postgres: during((one) => one.postgres) },
  };
}

/** A cron expression that matches this moment, and then not for a year. */
function onceAYear(ms: number): string {
  const at = new Date(ms);
  return [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, "*"].join(" ");
}

const nowMs = () => performance.timeOrigin + performance.now();

/** Milliseconds from enqueue to handler, of the jobs that were sent between two moments. */
const latencies = (times: readonly JobTimes[], fromMs: number, untilMs: number): number[] =>
  times
    .filter(({ sentMs }) => sentMs + performance.timeOrigin >= fromMs && sentMs + performance.timeOrigin < untilMs)
    .map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);

/** Polls until a condition holds, or gives up. Returns when that was, in milliseconds since 1970. */
async function untilHolds(holds: () => Promise<boolean>): Promise<number> {
  const untilMs = nowMs() + GIVE_UP_SECONDS * 1_000;
  while (nowMs() < untilMs && !(await holds())) await wait(20);
  return nowMs();
}

const allFired = async ({ database }: Environment, minuteMs: number): Promise<boolean> =>
  (await row(database, sql`select from schedule where not paused and next_run_at <= to_timestamp(${minuteMs}::float8 / 1000) limit 1`)) ===
  null;

/** Waits until no scheduled job is left. Returns how many schedules have exactly one job, completed at its first attempt. */
async function untilSettled({ database }: Environment, minuteMs: number): Promise<number> {
  await untilHolds(async () => (await row(database, sql`select from job where schedule is not null limit 1`)) === null);
  const counted = await row<{ n: number; all: number }>(
    database,
    sql`
      select count(distinct schedule) filter (where attempt = 1 and state = 'completed')::int as n, count(*)::int as all from job_history
      where scheduled_for = to_timestamp(${minuteMs}::float8 / 1000)`,
  );
  return counted && counted.n === counted.all ? counted.n : Number.NaN;
}
