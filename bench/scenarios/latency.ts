import type { Environment } from "../environment.ts";
import { PacedQueue } from "../paced.ts";
import { type Figure, quantile } from "../table.ts";

const PER_SECOND = 100;
const SECONDS = 10;
const BAR_P50_MS = 5;
const BAR_P99_MS = 25;

/** From the 2xx of an enqueue to the first byte at the handler, at 100 jobs a second. A callback before the 2xx counts as zero. */
export async function latency(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = await PacedQueue.open(node, environment.queueName());
  const took = (await queue.run(PER_SECOND, SECONDS)).map(({ acknowledgedMs, arrivedMs }) => Math.max(0, arrivedMs - acknowledgedMs));
  queue.close();
  await node.stop();
  const figure = (name: string, ms: number, bar: number): Figure => ({
    name: `enqueue (2xx) to handler at ${PER_SECOND} jobs/s, ${name}`,
    measured: `${ms.toFixed(1)} ms`,
    yardstick: "",
    ratio: "",
    bar: `≤ ${bar} ms`,
    met: ms <= bar,
  });
  return [figure("p50", quantile(took, 0.5), BAR_P50_MS), figure("p99", quantile(took, 0.99), BAR_P99_MS)];
}
