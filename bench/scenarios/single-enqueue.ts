import { type Environment, JOB } from "../environment.ts";
import type { Load, LoadResult } from "../load.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 5;
const SECONDS = 4;
const BAR = 0.85;

/** Single enqueues at 64 connections, durable, against the same server answering without storing; in turn, round by round. */
export async function singleEnqueue(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const unstored = await environment.unstored();
  const loader = await environment.loader();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const run = async (port: number, seconds: number) => {
    const order: Load = {
      port,
      path: `/v1/queues/${queue}/jobs`,
      key: environment.key,
      body: JSON.stringify(JOB),
      connections: 64,
      seconds,
    };
    const result = await loader.ask<LoadResult>(order);
    if (result.failures > 0) throw new Error(`${result.failures} enqueues were refused.`);
    return result.perSecond;
  };
  await run(node.port, 2);
  await run(unstored.port, 2);
  const stored: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    stored.push(await run(node.port, SECONDS));
    bare.push(await run(unstored.port, SECONDS));
  }
  await Promise.all([node.stop(), unstored.peer.stop(), loader.stop()]);
  const ratio = median(stored.map((value, round) => value / (bare[round] ?? Number.NaN)));
  return [
    {
      name: "single enqueue over HTTP, 64 connections",
      measured: `${thousands(median(stored))} jobs/s`,
      yardstick: `${thousands(median(bare))} requests/s without storing`,
      ratio: ratio.toFixed(2),
      bar: `≥ ${BAR}`,
      met: ratio >= BAR,
    },
  ];
}
