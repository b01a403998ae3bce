import { setTimeout as wait } from "node:timers/promises";
import type { Environment } from "../environment.ts";
import { type JobTimes, PacedQueue } from "../paced.ts";
import { clearJobs, putFullQueues, putJobs, putQueue, setPaused, untilNoneActive, vacuumAnalyze } from "../put-jobs.ts";
import { type Figure, quantile } from "../table.ts";

const JOBS = 500_000;
const QUEUES = 10_000;
/** Lanes that get one job a second each. With a single lane, a p99 would take minutes. */
const SMALL_LANES = 10;
const SECONDS = 30;
const BAR = 3;
const PREFIX = "fairness-";

const BESIDE = {
  "a lane with 500,000 jobs": async ({ database }: Environment, url: string) => {
    const lane = await putQueue(database, { name: `${PREFIX}big`, url, paused: true });
    await putJobs(database, lane, JOBS);
  },
  "10,000 queues with 50 jobs each": ({ database }: Environment, url: string) =>
    putFullQueues(database, { prefix: PREFIX, queues: QUEUES, jobs: JOBS / QUEUES, url, paused: true }),
} satisfies Record<string, (environment: Environment, url: string) => Promise<unknown>>;

/** From the 2xx of an enqueue to the first byte at its handler, in lanes with one job a second. Compares a busy node with an idle one. */
export async function fairness(environment: Environment): Promise<Figure[]> {
  const node = await environment.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const receiver = await environment.receiver();
  const small: PacedQueue[] = [];
  while (small.length < SMALL_LANES) small.push(await PacedQueue.open(node, environment.queueName()));
  const requests = async () => (await receiver.peer.ask<{ requests: number }>({})).requests;
  const figures: Figure[] = [];
  for (const [name, put] of Object.entries(BESIDE)) {
    await put(environment, receiver.url);
    await vacuumAnalyze(environment.database);
    const alone = await runAll(small);
    const before = await requests();
    await setPaused(environment.database, PREFIX, false);
    // The first callback shows that the node has found the work.
    while ((await requests()) === before) await wait(20);
    const beside = await runAll(small);
    const delivered = (await requests()) - before;
    await setPaused(environment.database, PREFIX, true);
    await untilNoneActive(environment.database);
    await clearJobs(environment.database, PREFIX);
    if (delivered >= JOBS) throw new Error("The other queues' work ended before the measurement did.");
    figures.push(...figuresOf(name, beside, alone));
  }
  for (const queue of small) queue.close();
  await Promise.all([node.stop(), receiver.peer.stop()]);
  return figures;
}

/** Runs all lanes. Their jobs are spread evenly over each second. */
async function runAll(small: readonly PacedQueue[]): Promise<JobTimes[]> {
  const runs = small.map(async (queue, index) => {
    await wait((index * 1_000) / small.length);
    return queue.run(1, SECONDS);
  });
  return (await Promise.all(runs)).flat();
}

function figuresOf(name: string, beside: readonly JobTimes[], alone: readonly JobTimes[]): Figure[] {
  const figure = (what: string, of: (job: JobTimes) => number, label: string, part: number, bar: number | null): Figure => {
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
  const fromAnswer = ({ acknowledgedMs, arrivedMs }: JobTimes) => Math.max(0, arrivedMs - acknowledgedMs);
  const whole = ({ sentMs, arrivedMs }: JobTimes) => arrivedMs - sentMs;
  return [
    figure("enqueue (2xx) to handler", fromAnswer, "p50", 0.5, null),
    figure("enqueue (2xx) to handler", fromAnswer, "p99", 0.99, BAR),
    figure("enqueue (sent) to handler", whole, "p50", 0.5, null),
    figure("enqueue (sent) to handler", whole, "p99", 0.99, null),
  ];
}
