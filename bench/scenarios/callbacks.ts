import { setTimeout as wait } from "node:timers/promises";
import { rows, sql } from "../../packages/server/src/kernel/index.ts";
import { type Cost, costOf, medianOf, ratioOf } from "../cost.ts";
import { type BenchNode, type Environment, JOB } from "../environment.ts";
import { Peer } from "../processes.ts";
import { type Figure, thousands } from "../table.ts";

const ROUNDS = 7;
const JOBS = 20_000;
/** Of processor time; of callbacks per second there is no bar, for they depend on what else the machine does. */
const BAR = 1.8;
const CONNECTIONS = [32, 64, 128];

/** Callbacks delivered and settled from a backlog, against a bare undici loop to the same receiver, in turn. */
export async function callbacks(environment: Environment): Promise<Figure[]> {
  const node = await environment.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const receiver = await environment.receiver();
  const { peer: bareSender } = await Peer.start("bare-sender");
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue, callback_url: receiver.url, paused: true });
  // What a callback's body is, for the loop to send the same.
  const body = JSON.stringify({
    id: `job_${"0".repeat(26)}`,
    queue,
    attempt: 1,
    attempts: 3,
    tag: null,
    created_at: "2026-11-21T00:00:00.000Z",
    schedule: null,
    scheduled_for: null,
    ...JOB,
  });
  const send = (connections: number) =>
    costOf(bareSender, environment.connection.host, async () => {
      await bareSender.ask<{ seconds: number }>({ url: receiver.url, body, requests: JOBS, connections });
      return JOBS;
    });

  await send(64);
  // The loop at its best is the yardstick.
  const candidates: { connections: number; cost: Cost }[] = [];
  for (const connections of CONNECTIONS) candidates.push({ connections, cost: await send(connections) });
  const [best] = candidates.sort((a, b) => a.cost.process - b.cost.process);
  const connections = best?.connections ?? 0;
  for (let round = 0; round < 2; round += 1) await deliver(environment, node, queue, JOBS);
  const delivered: Cost[] = [];
  const sent: Cost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    delivered.push(await deliver(environment, node, queue, JOBS));
    sent.push(await send(connections));
  }
  await Promise.all([node.stop(), receiver.peer.stop(), bareSender.stop()]);
  const name = "callbacks delivered and settled";
  const ratio = ratioOf(delivered, sent, "process");
  return [
    {
      name: `${name}: node's processor`,
      measured: `${medianOf(delivered, "process").toFixed(1)} µs a callback`,
      yardstick: `${medianOf(sent, "process").toFixed(1)} µs by a bare undici loop, ${connections} connections`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR}`,
      met: ratio <= BAR,
    },
    {
      name: `${name}: PostgreSQL's processor`,
      measured: `${medianOf(delivered, "postgres").toFixed(1)} µs a callback`,
      yardstick: "",
      ratio: "",
      bar: "",
      met: true,
    },
    {
      name,
      measured: `${thousands(medianOf(delivered, "perSecond"))} /s`,
      yardstick: `${thousands(medianOf(sent, "perSecond"))} /s by the loop`,
      ratio: ratioOf(delivered, sent, "perSecond").toFixed(2),
      bar: "",
      met: true,
    },
  ];
}

/** Fills the paused queue, lets it run, and measures from the first start to the last settle. */
export async function deliver(environment: Environment, node: BenchNode, queue: string, jobs: number, job: object = JOB): Promise<Cost> {
  await node.api("PATCH", `/v1/queues/${queue}`, { paused: true });
  await node.fill(queue, jobs, job);
  return costOf(node.peer, environment.connection.host, async () => {
    await node.api("PATCH", `/v1/queues/${queue}`, { paused: false });
    for (;;) {
      await wait(20);
      const [left] = await rows<{ n: number }>(
        environment.database,
        sql`select count(*) as n from (select from tidemill.job where state in ('waiting', 'active') limit 1) one`,
      );
      if (left?.n === 0) return jobs;
    }
  });
}
