import { type Cost, costOf, medianOf, ratioOf } from "../cost.ts";
import { type Environment, JOB } from "../environment.ts";
import type { Load, LoadResult } from "../load.ts";
import type { Peer } from "../processes.ts";
import { type Figure, thousands } from "../table.ts";

const ROUNDS = 7;
const SECONDS = 4;
/** Enough for the compiler to have seen all there is. */
const WARM_UP_REQUESTS = 30_000;
const CONNECTIONS = 64;
/** Of processor time; of requests per second there is no bar, for they depend on what else the machine does. */
const BAR = 1.25;

/** Single enqueues at 64 connections, durable, against the same server answering without storing; in turn, round by round. */
export async function singleEnqueue(environment: Environment): Promise<Figure[]> {
  const node = await environment.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const unstored = await environment.unstored();
  const loader = await environment.loader();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const send = async (port: number, seconds: number) => {
    const path = `/v1/queues/${queue}/jobs`;
    const order: Load = { port, path, key: environment.key, body: JSON.stringify(JOB), connections: CONNECTIONS, seconds };
    const { requests, failures } = await loader.ask<LoadResult>(order);
    if (failures > 0) throw new Error(`${failures} enqueues were refused.`);
    return requests;
  };
  const measure = ({ peer, port }: { peer: Peer; port: number }) => costOf(peer, environment.connection.host, () => send(port, SECONDS));

  for (const { port } of [node, unstored]) for (let sent = 0; sent < WARM_UP_REQUESTS; ) sent += await send(port, 1);
  const stored: Cost[] = [];
  const bare: Cost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    stored.push(await measure(node));
    bare.push(await measure(unstored));
  }
  await Promise.all([node.stop(), unstored.peer.stop(), loader.stop()]);
  const name = "single enqueue over HTTP, 64 connections";
  const ratio = ratioOf(stored, bare, "process");
  return [
    {
      name: `${name}: node's processor`,
      measured: `${medianOf(stored, "process").toFixed(1)} µs a request`,
      yardstick: `${medianOf(bare, "process").toFixed(1)} µs without storing`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR}`,
      met: ratio <= BAR,
    },
    {
      name: `${name}: PostgreSQL's processor`,
      measured: `${medianOf(stored, "postgres").toFixed(1)} µs a request`,
      yardstick: "",
      ratio: "",
      bar: "",
      met: true,
    },
    {
      name,
      measured: `${thousands(medianOf(stored, "perSecond"))} jobs/s`,
      yardstick: `${thousands(medianOf(bare, "perSecond"))} requests/s without storing`,
      ratio: ratioOf(stored, bare, "perSecond").toFixed(2),
      bar: "",
      met: true,
    },
  ];
}
