import { setTimeout as wait } from "node:timers/promises";
import { Tidemill, Worker } from "@tidemill/sdk";
import type { Environment } from "../environment.ts";
import { type Figure, quantile } from "../table.ts";

const PER_SECOND = 100;
const SECONDS = 10;
const WARM_UP = 100;
const BAR_P50_MS = 3;

/** From an enqueue, of which the client makes a request, to the first line of a worker's handler, at 100 jobs a second. */
export async function workerLatency(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const where = { url: node.url, key: environment.key };
  const client = new Tidemill(where);
  const name = environment.queueName();
  await client.queues.create({ name });
  const took: number[] = [];
  const worker = new Worker({
    ...where,
    queues: { [name]: ({ payload }) => took.push(performance.now() - (payload as number)) },
    signals: [],
  });
  const running = worker.run();
  const startedMs = performance.now();
  const jobs = WARM_UP + PER_SECOND * SECONDS;
  const sent: Promise<unknown>[] = [];
  for (let n = 0; n < jobs; n += 1) {
    const dueMs = startedMs + (n * 1000) / PER_SECOND;
    if (dueMs > performance.now()) await wait(dueMs - performance.now());
    sent.push(client.queue(name).enqueue(performance.now()));
  }
  await Promise.all(sent);
  while (took.length < jobs) await wait(10);
  await worker.stop();
  await running;
  await node.stop();
  const steady = took.slice(WARM_UP);
  const figure = (part: number, bar: number | null): Figure => {
    const ms = quantile(steady, part);
    return {
      name: `enqueue to a worker's handler at ${PER_SECOND} jobs/s, p${part * 100}`,
      measured: `${ms.toFixed(1)} ms`,
      yardstick: "",
      ratio: "",
      bar: bar === null ? "" : `≤ ${bar} ms`,
      met: bar === null || ms <= bar,
    };
  };
  return [figure(0.5, BAR_P50_MS), figure(0.99, null)];
}
