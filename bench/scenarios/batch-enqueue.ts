import { type Environment, JOB } from "../environment.ts";
import type { LoadResult } from "../load.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 5;
const SECONDS = 3;
const BAR = 40_000;
const JOBS = 1_000;

/** Enqueues batches of 1,000 jobs over two connections, with durable commits. */
export async function batchEnqueue(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const loader = await environment.loader();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const body = JSON.stringify({ jobs: Array.from({ length: JOBS }, () => JOB) });
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = { port: node.port, path: `/v1/queues/${queue}/jobs/batch`, key: environment.key, body, connections: 2, seconds: SECONDS };
    const result = await loader.ask<LoadResult>(order);
    if (result.failures > 0) throw new Error(`${result.failures} batches were refused.`);
    rates.push(result.perSecond * JOBS);
  }
  await Promise.all([node.stop(), loader.stop()]);
  const rate = median(rates);
  return [
    {
      name: "batch enqueue, 1,000 jobs each",
      measured: `${thousands(rate)} jobs/s`,
      yardstick: "",
      ratio: "",
      bar: `≥ ${thousands(BAR)} jobs/s`,
      met: rate >= BAR,
    },
  ];
}
