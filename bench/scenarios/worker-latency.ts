import { setTimeout as wait } from "node:timers/promises";
import { Tidemill, Worker } from "@tidemill/sdk";
import type { Environment } from "../environment.ts";
import { type Figure, quantile } from "../table.ts";

const PER_SECOND = 100;
const SECONDS = 10;
const WARM_UP = 100;
const BAR_P50_MS = 3;

/**
 * How long a job takes to a worker's handler, at 100 jobs a second: from the 2xx of its enqueue, where a handler that ran before counts as
 * zero, and from the call of `enqueue`.
 */
export async function workerLatency(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const where = { url: node.url, key: environment.key };
  const client = new Tidemill(where);
  const name = environment.queueName();
  await client.queues.create({ name });
  const jobs = WARM_UP + PER_SECOND * SECONDS;
  const ranMs: number[] = [];
  const all = Promise.withResolvers<void>();
  const handler = ({ payload }: { payload: unknown }) => {
    ranMs[payload as number] = performance.now();
    if (Object.keys(ranMs).length === jobs) all.resolve();
  };
  const worker = new Worker({ ...where, queues: { [name]: handler }, signals: [] });
  const running = worker.run();
  const sent = await enqueueAll(jobs, (at) => client.queue(name).enqueue(at));
  await all.promise;
  await worker.stop();
  await running;
  await node.stop();
  const steady = sent.map(({ sentMs, acknowledgedMs }, at) => ({ sentMs, acknowledgedMs, ranMs: ranMs[at] ?? Number.NaN })).slice(WARM_UP);
  return [
    ...figures(
      "enqueue (2xx) to a worker's handler",
      steady.map((job) => Math.max(0, job.ranMs - job.acknowledgedMs)),
      BAR_P50_MS,
    ),
    ...figures(
      "call of enqueue to a worker's handler",
      steady.map((job) => job.ranMs - job.sentMs),
      null,
    ),
  ];
}

/** Enqueues at a steady rate, whatever the responses take. */
async function enqueueAll(jobs: number, enqueue: (at: number) => Promise<unknown>): Promise<{ sentMs: number; acknowledgedMs: number }[]> {
  const startedMs = performance.now();
  const sent: Promise<{ sentMs: number; acknowledgedMs: number }>[] = [];
  for (let at = 0; at < jobs; at += 1) {
    const dueMs = startedMs + (at * 1000) / PER_SECOND;
    if (dueMs > performance.now()) await wait(dueMs - performance.now());
    const sentMs = performance.now();
    sent.push(enqueue(at).then(() => ({ sentMs, acknowledgedMs: performance.now() })));
  }
  return Promise.all(sent);
}

function figures(name: string, took: readonly number[], barMs: number | null): Figure[] {
  return [0.5, 0.99].map((part) => {
    const ms = quantile(took, part);
    const bar = part === 0.5 ? barMs : null;
    return {
      name: `${name} at ${PER_SECOND} jobs/s, p${part * 100}`,
      measured: `${ms.toFixed(1)} ms`,
      yardstick: "",
      ratio: "",
      bar: bar === null ? "" : `≤ ${bar} ms`,
      met: bar === null || ms <= bar,
    };
  });
}
