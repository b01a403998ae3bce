import { setTimeout as wait } from "node:timers/promises";
import { rows, sql } from "../../packages/server/src/kernel/index.ts";
import { type BenchNode, type Environment, JOB } from "../environment.ts";
import { Peer } from "../processes.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 3;
const JOBS = 50_000;
const BAR = 0.7;
const CONNECTIONS = [32, 64, 128];

/** Callbacks delivered and settled per second from a backlog, against a bare undici loop to the same receiver, in turn. */
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
    ...JOB,
  });
  const bare = async (connections: number, requests: number) =>
    requests / (await bareSender.ask<{ seconds: number }>({ url: receiver.url, body, requests, connections })).seconds;

  await bare(64, 10_000);
  // The loop at its best is the yardstick.
  let connections = 0;
  let best = 0;
  for (const candidate of CONNECTIONS) {
    const rate = await bare(candidate, 20_000);
    if (rate > best) [best, connections] = [rate, candidate];
  }
  await deliver(environment, node, queue, 10_000);
  const delivered: number[] = [];
  const sent: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    delivered.push(await deliver(environment, node, queue, JOBS));
    sent.push(await bare(connections, JOBS));
  }
  await Promise.all([node.stop(), receiver.peer.stop(), bareSender.stop()]);
  const ratio = median(delivered.map((value, round) => value / (sent[round] ?? Number.NaN)));
  return [
    {
      name: "callbacks delivered and settled",
      measured: `${thousands(median(delivered))} /s`,
      yardstick: `${thousands(median(sent))} /s by a bare undici loop, ${connections} connections`,
      ratio: ratio.toFixed(2),
      bar: `≥ ${BAR}`,
      met: ratio >= BAR,
    },
  ];
}

/** Fills the paused queue, lets it run, and answers jobs per second from the first start to the last settle. */
export async function deliver(environment: Environment, node: BenchNode, queue: string, jobs: number, job: object = JOB): Promise<number> {
  await node.api("PATCH", `/v1/queues/${queue}`, { paused: true });
  await node.fill(queue, jobs, job);
  const startedMs = performance.now();
  await node.api("PATCH", `/v1/queues/${queue}`, { paused: false });
  for (;;) {
    await wait(20);
    const [left] = await rows<{ n: number }>(
      environment.database,
      sql`select count(*) as n from (select from tidemill.job where state in ('waiting', 'active') limit 1) one`,
    );
    if (left?.n === 0) break;
  }
  return jobs / ((performance.now() - startedMs) / 1000);
}
