import { setTimeout as wait } from "node:timers/promises";
import { type Journey, PacedQueue } from "../paced.ts";
import { clearJobs, putFullQueues, putJobs, putQueue, setPaused, tidy, untilNothingIsUnderWay } from "../put-jobs.ts";
import { type Figure, quantile } from "../table.ts";
import type { Yard } from "../yard.ts";

const JOBS = 500_000;
const QUEUES = 10_000;
/** Lanes with a job a second each: with one alone, a p99 would take minutes. */
const SMALL_LANES = 10;
const SECONDS = 30;
const BAR = 3;
const PREFIX = "fairness-";

const BESIDE = {
  "a lane with 500,000 jobs": async ({ database }: Yard, url: string) => {
    const lane = await putQueue(database, { name: `${PREFIX}big`, url, paused: true });
    await putJobs(database, lane, JOBS);
  },
  "10,000 queues with 50 jobs each": ({ database }: Yard, url: string) =>
    putFullQueues(database, { prefix: PREFIX, queues: QUEUES, jobs: JOBS / QUEUES, url, paused: true }),
} satisfies Record<string, (yard: Yard, url: string) => Promise<unknown>>;

/** From the 2xx of an enqueue to the first byte at its handler, in lanes with one job a second, beside very much work against alone. */
export async function fairness(yard: Yard): Promise<Figure[]> {
  const node = await yard.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const receiver = await yard.receiver();
  const small: PacedQueue[] = [];
  while (small.length < SMALL_LANES) small.push(await PacedQueue.open(node, yard.queueName()));
  const requests = async () => (await receiver.peer.ask<{ requests: number }>({})).requests;
  const figures: Figure[] = [];
  for (const [name, put] of Object.entries(BESIDE)) {
    await put(yard, receiver.url);
    await tidy(yard.database);
    const alone = await runAll(small);
    const before = await requests();
    await setPaused(yard.database, PREFIX, false);
    // A node that has looked for work is at it.
    while ((await requests()) === before) await wait(20);
    const beside = await runAll(small);
    const delivered = (await requests()) - before;
    await setPaused(yard.database, PREFIX, true);
    await untilNothingIsUnderWay(yard.database);
    await clearJobs(yard.database, PREFIX);
    if (delivered >= JOBS) throw new Error("The work beside was over before its time.");
    figures.push(...figuresOf(name, beside, alone));
  }
  for (const queue of small) queue.close();
  await Promise.all([node.stop(), receiver.peer.stop()]);
  return figures;
}

/** All lanes, one after the other within each second. */
async function runAll(small: readonly PacedQueue[]): Promise<Journey[]> {
  const runs = small.map(async (queue, index) => {
    await wait((index * 1_000) / small.length);
    return queue.run(1, SECONDS);
  });
  return (await Promise.all(runs)).flat();
}

function figuresOf(name: string, beside: readonly Journey[], alone: readonly Journey[]): Figure[] {
  const figure = (what: string, of: (journey: Journey) => number, label: string, part: number, bar: number | null): Figure => {
    const [withIt, without] = [quantile(beside.map(of), part), quantile(alone.map(of), part)];
    return {
      name: `${what} at 1 job/s beside ${name}, ${label}`,
      measured: `${withIt.toFixed(2)} ms`,
      yardstick: `${without.toFixed(2)} ms alone`,
      ratio: (withIt / without).toFixed(2),
      bar: bar === null ? "" : `≤ ${bar}`,
      met: bar === null || withIt / without <= bar,
    };
  };
  const fromAnswer = ({ answeredMs, arrivedMs }: Journey) => Math.max(0, arrivedMs - answeredMs);
  const whole = ({ sentMs, arrivedMs }: Journey) => arrivedMs - sentMs;
  return [
    figure("enqueue (2xx) to handler", fromAnswer, "p50", 0.5, null),
    figure("enqueue (2xx) to handler", fromAnswer, "p99", 0.99, BAR),
    figure("enqueue (sent) to handler", whole, "p50", 0.5, null),
    figure("enqueue (sent) to handler", whole, "p99", 0.99, null),
  ];
}
