import { randomUUID } from "node:crypto";
import type { Order, Took } from "../client-orders.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { startRedis } from "../redis.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 3;
const JOBS = 30_000;
const WARM_UP_JOBS = 10_000;
const MISSING = "BullMQ is not measured: redis-server is missing";

type Where = Pick<Order, "url" | "key">;

/** Jobs that do nothing, enqueued one by one and run by one worker process: the client of Tidemill and BullMQ on Redis, in turn. */
export async function workers(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const redis = await startRedis();
  try {
    const ours = await rounds("sdk", { url: node.url, key: environment.key }, node);
    const theirs = redis && (await rounds("bullmq", { url: redis.url, key: "" }, null));
    return [
      figure("enqueue from 64 concurrent callers", ours.enqueue, theirs?.enqueue ?? null, 1.5),
      figure("jobs taken and settled by one worker process", ours.work, theirs?.work ?? null, 2),
    ];
  } finally {
    await redis?.stop();
    await node.stop();
  }
}

/** The client's process time and the jobs per second of each round. */
async function rounds(client: "sdk" | "bullmq", where: Where, node: BenchNode | null): Promise<Record<"enqueue" | "work", Took[]>> {
  const took: Record<"enqueue" | "work", Took[]> = { enqueue: [], work: [] };
  const { peer } = await Peer.start(client);
  for (let round = 0; round <= ROUNDS; round += 1) {
    const queue = `workers-${randomUUID().slice(0, 8)}`;
    await node?.api("POST", "/v1/queues", { name: queue });
    for (const kind of ["enqueue", "work"] as const) {
      const result = await peer.ask<Took>({ kind, ...where, queue, jobs: round === 0 ? WARM_UP_JOBS : JOBS });
      if (round > 0) took[kind].push(result);
    }
  }
  await peer.stop();
  return took;
}

function figure(name: string, ours: readonly Took[], theirs: readonly Took[] | null, bar: number): Figure {
  const speed = (took: readonly Took[]) => JOBS / median(took.map(({ seconds }) => seconds));
  const shown = (took: readonly Took[]) =>
    `${thousands(speed(took))} jobs/s, ${median(took.map(({ cpu }) => cpu)).toFixed(1)} µs of the client`;
  const ratio = theirs && speed(ours) / speed(theirs);
  return {
    name,
    measured: shown(ours),
    yardstick: theirs ? `BullMQ: ${shown(theirs)}` : MISSING,
    ratio: ratio === null ? "" : ratio.toFixed(2),
    bar: `≥ ${bar}`,
    met: ratio === null || ratio >= bar,
  };
}
