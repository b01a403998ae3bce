import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../../packages/server/src/kernel/index.ts";
import type { LaneKey } from "../../packages/server/src/lanes/index.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { type Processor, readProcessor } from "../processor.ts";
import { clearJobs, type Keys, putJobs, putQueue, untilNoneActive, vacuumAnalyze } from "../put-jobs.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 3;
const BACKLOG = 200_000;
/** A round ends after this many jobs. The jobs of the most frequent keys would run one after the other for long afterwards. */
const DELIVERED = 50_000;
const ALONE = 2_000;
const KEYS = 100_000;
const BAR = 0.7;
const QUEUE = "keys";

const KINDS = {
  none: { kind: "none" },
  uniform: { kind: "uniform", count: KEYS },
  zipf: { kind: "zipf", count: KEYS },
} as const satisfies Record<string, Keys>;

interface Delivery {
  readonly perSecond: number;
  /** Microseconds per job. */
  readonly cost: Processor;
}

/** Callbacks delivered and settled per second from a backlog with 100,000 keys, in turn with one without keys. Then with one key. */
export async function keys(environment: Environment): Promise<Figure[]> {
  const node = await environment.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const receiver = await environment.receiver();
  const lane = await putQueue(environment.database, { name: QUEUE, url: receiver.url, paused: true });
  await deliver(environment, node, lane, KINDS.none, BACKLOG, DELIVERED);
  const deliveries: Record<keyof typeof KINDS, Delivery[]> = { none: [], uniform: [], zipf: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of ["none", "uniform", "zipf"] as const)
      deliveries[kind].push(await deliver(environment, node, lane, KINDS[kind], BACKLOG, DELIVERED));
  }
  const alone = await deliver(environment, node, lane, { kind: "one" }, ALONE, ALONE);
  await Promise.all([node.stop(), receiver.peer.stop()]);
  return [
    figure("100,000 keys", deliveries.uniform, deliveries.none),
    figure("100,000 keys (Zipf)", deliveries.zipf, deliveries.none),
    {
      name: "callbacks of one key, one after the other",
      measured: `${thousands(alone.perSecond)} /s, ${costOf([alone])}`,
      yardstick: "",
      ratio: "",
      bar: "",
      met: true,
    },
  ];
}

function figure(name: string, withKeys: readonly Delivery[], without: readonly Delivery[]): Figure {
  const rate = (deliveries: readonly Delivery[]) => median(deliveries.map(({ perSecond }) => perSecond));
  const ratio = median(withKeys.map(({ perSecond }, round) => perSecond / (without[round]?.perSecond ?? Number.NaN)));
  return {
    name: `callbacks delivered and settled with ${name}`,
    measured: `${thousands(rate(withKeys))} /s, ${costOf(withKeys)}`,
    yardstick: `${thousands(rate(without))} /s, ${costOf(without)} without`,
    ratio: ratio.toFixed(2),
    bar: `≥ ${BAR}`,
    met: ratio >= BAR,
  };
}

function costOf(deliveries: readonly Delivery[]): string {
  const cost = (of: (processor: Processor) => number) => median(deliveries.map((one) => of(one.cost))).toFixed(0);
  return `${cost(({ nodes }) => nodes)} µs node + ${cost(({ postgres }) => postgres)} µs PostgreSQL`;
}

/** Fills the paused queue, resumes it until `jobs` jobs are settled, and empties it. */
async function deliver(
  environment: Environment,
  node: BenchNode,
  lane: LaneKey,
  of: Keys,
  backlog: number,
  jobs: number,
): Promise<Delivery> {
  const { database, connection } = environment;
  await putJobs(database, lane, backlog, of);
  await vacuumAnalyze(database);
  const settledBefore = await settled(environment, lane);
  const before = await readProcessor(connection.host, [node]);
  const startedMs = performance.now();
  await node.api("PATCH", `/v1/queues/${QUEUE}`, { paused: false });
  while ((await settled(environment, lane)) < settledBefore + jobs) await wait(20);
  const tookMs = performance.now() - startedMs;
  const after = await readProcessor(connection.host, [node]);
  await node.api("PATCH", `/v1/queues/${QUEUE}`, { paused: true });
  await untilNoneActive(database);
  await clearJobs(database, `${QUEUE}-`);
  const each = (of: (processor: Processor) => number) => ((of(after) - of(before)) / jobs) * 1e6;
  return { perSecond: jobs / (tookMs / 1_000), cost: { nodes: each((one) => one.nodes), postgres: each((one) => one.postgres) } };
}

/** Jobs of the lane that have completed since it was created. */
const settled = async ({ database }: Environment, { laneId }: LaneKey): Promise<number> =>
  (await row<{ n: number }>(database, sql`select coalesce(sum(completed), 0)::int as n from tally where lane_id = ${laneId}`))?.n ?? 0;
