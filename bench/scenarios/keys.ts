import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../../packages/server/src/kernel/index.ts";
import { type Processor, readProcessor } from "../processor.ts";
import { clearJobs, type Keys, type LaneOf, putJobs, putQueue, tidy, untilNothingIsUnderWay } from "../put-jobs.ts";
import { type Figure, median, thousands } from "../table.ts";
import type { BenchNode, Yard } from "../yard.ts";

const ROUNDS = 3;
const BACKLOG = 200_000;
/** Of the backlog, so many are waited for: the jobs of the most frequent keys go one after the other for long afterwards. */
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
  /** For each job. Microseconds. */
  readonly cost: Processor;
}

/** Callbacks delivered and settled per second from a backlog with 100,000 keys against one without, in turn; and those of one key. */
export async function keys(yard: Yard): Promise<Figure[]> {
  const node = await yard.node(process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});
  const receiver = await yard.receiver();
  const lane = await putQueue(yard.database, { name: QUEUE, url: receiver.url, paused: true });
  await deliver(yard, node, lane, KINDS.none, BACKLOG, DELIVERED);
  const deliveries: Record<keyof typeof KINDS, Delivery[]> = { none: [], uniform: [], zipf: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of ["none", "uniform", "zipf"] as const)
      deliveries[kind].push(await deliver(yard, node, lane, KINDS[kind], BACKLOG, DELIVERED));
  }
  const alone = await deliver(yard, node, lane, { kind: "one" }, ALONE, ALONE);
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

/** Fills the paused queue, lets it run until so many are settled, and empties it. */
async function deliver(yard: Yard, node: BenchNode, lane: LaneOf, of: Keys, backlog: number, jobs: number): Promise<Delivery> {
  const { database, connection } = yard;
  await putJobs(database, lane, backlog, of);
  await tidy(database);
  const settledBefore = await settled(yard, lane);
  const before = await readProcessor(connection.host, [node]);
  const startedMs = performance.now();
  await node.api("PATCH", `/v1/queues/${QUEUE}`, { paused: false });
  while ((await settled(yard, lane)) < settledBefore + jobs) await wait(20);
  const tookMs = performance.now() - startedMs;
  const after = await readProcessor(connection.host, [node]);
  await node.api("PATCH", `/v1/queues/${QUEUE}`, { paused: true });
  await untilNothingIsUnderWay(database);
  await clearJobs(database, `${QUEUE}-`);
  const each = (of: (processor: Processor) => number) => ((of(after) - of(before)) / jobs) * 1e6;
  return { perSecond: jobs / (tookMs / 1_000), cost: { nodes: each((one) => one.nodes), postgres: each((one) => one.postgres) } };
}

/** Jobs of the lane that have completed since it was made. */
const settled = async ({ database }: Yard, { laneId }: LaneOf): Promise<number> =>
  (await row<{ n: number }>(database, sql`select coalesce(sum(completed), 0)::int as n from tally where lane_id = ${laneId}`))?.n ?? 0;
