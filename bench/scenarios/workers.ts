import { randomUUID } from "node:crypto";
import type { Order, Took } from "../client-orders.ts";
import { type Cost, costOf, medianOf } from "../cost.ts";
import type { Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { startRedis } from "../redis.ts";
import { type Figure, median, thousands } from "../table.ts";

const ROUNDS = 3;
const JOBS = 30_000;
const WARM_UP_JOBS = 10_000;
/** Of the slower peers, on PostgreSQL. */
const FEW_JOBS = 6_000;
const KINDS = ["enqueue", "enqueueMany", "work"] as const;

type Kind = Order["kind"];
type Rounds = Record<Kind, Took[]>;
/** Has a queue with this name made, and measures the work on its jobs. */
interface Service {
  createQueue(name: string): Promise<unknown>;
  measure(kind: Kind, jobs: number, work: () => Promise<Took>): Promise<Took>;
}

/** A client of a peer. */
interface Rival {
  readonly name: string;
  readonly file: string;
  readonly env?: Record<string, string>;
  readonly url: string | null;
  readonly jobs: number;
  /** What Tidemill's speed must be, as a multiple of the peer's. */
  readonly bars: Partial<Record<Kind, number>>;
}

const NAMES: Record<Kind, string> = {
  enqueue: "enqueue from 64 concurrent callers",
  enqueueMany: "enqueue in lists of 100",
  work: "jobs taken and settled by one worker process",
};

/** Jobs that do nothing, enqueued and run by one process: the client of Tidemill and those of other systems, one after the other. */
export async function workers(environment: Environment): Promise<Figure[]> {
  const redis = await startRedis();
  const postgres = JSON.stringify(environment.connection);
  const rivals: Rival[] = [
    { name: "BullMQ on Redis", file: "bullmq", url: redis?.url ?? null, jobs: JOBS, bars: { enqueue: 1.5, enqueueMany: 2, work: 2 } },
    { name: "graphile-worker with its local queue", file: "graphile-worker", url: postgres, jobs: JOBS, bars: { work: 1 } },
    {
      name: "graphile-worker with its local queue and completions in batches",
      file: "graphile-worker",
      env: { BENCH_BATCH_COMPLETIONS: "1" },
      url: postgres,
      jobs: JOBS,
      bars: {},
    },
    { name: "BullMQ on PostgreSQL", file: "bullmq-postgres", url: postgres, jobs: FEW_JOBS, bars: {} },
    { name: "pg-boss", file: "pg-boss", url: postgres, jobs: FEW_JOBS, bars: {} },
  ];
  try {
    const { ours, figures } = await measureTidemill(environment);
    for (const rival of rivals) figures.push(...(await compare(ours, rival)));
    return figures;
  } finally {
    await redis?.stop();
  }
}

async function measureTidemill(environment: Environment): Promise<{ ours: Rounds; figures: Figure[] }> {
  const profile = process.env.BENCH_PROFILE;
  const node = await environment.node(profile ? { BENCH_PROFILE: profile } : {});
  const costs: Record<Kind, Cost[]> = { enqueue: [], enqueueMany: [], work: [] };
  const ours = await roundsOf("sdk", { url: node.url, key: environment.key }, JOBS, {
    createQueue: (name) => node.api("POST", "/v1/queues", { name }),
    async measure(kind, jobs, work) {
      let took: Took | undefined;
      const cost = await costOf(node.peer, environment.connection.host, async () => {
        took = await work();
        return jobs;
      });
      costs[kind].push(cost);
      return took as Took;
    },
  });
  await node.stop();
  const processor = (kind: Kind, part: "process" | "postgres") => medianOf(costs[kind].slice(1), part).toFixed(1);
  const figures = KINDS.map((kind) => ({
    name: NAMES[kind],
    measured: `${shown(ours[kind])}, ${processor(kind, "process")} of the node, ${processor(kind, "postgres")} of PostgreSQL`,
    ...NO_YARDSTICK,
  }));
  return { ours, figures };
}

const NO_YARDSTICK = { yardstick: "", ratio: "", bar: "", met: true };

async function compare(ours: Rounds, { name, file, env, url, jobs, bars }: Rival): Promise<Figure[]> {
  if (url === null) return [{ name, measured: "missing: not installed here", ...NO_YARDSTICK }];
  const theirs = await roundsOf(
    file,
    { url, key: "" },
    jobs,
    { createQueue: async () => {}, measure: (_kind, _jobs, work) => work() },
    env,
  );
  return KINDS.map((kind) => {
    const ratio = speedOf(ours[kind]) / speedOf(theirs[kind]);
    const bar = bars[kind];
    return {
      name: NAMES[kind],
      measured: `${thousands(speedOf(ours[kind]))} jobs/s`,
      yardstick: `${name}: ${shown(theirs[kind])}`,
      ratio: ratio.toFixed(2),
      bar: bar === undefined ? "" : `≥ ${bar}`,
      met: ratio >= (bar ?? 0),
    };
  });
}

/** The rounds of each kind, without a first one to warm up. */
async function roundsOf(file: string, where: Pick<Order, "url" | "key">, jobs: number, service: Service, env = {}): Promise<Rounds> {
  const took: Rounds = { enqueue: [], enqueueMany: [], work: [] };
  const { peer } = await Peer.start(file, env);
  for (let round = 0; round <= ROUNDS; round += 1) {
    const queue = `workers-${randomUUID().slice(0, 8)}`;
    await service.createQueue(queue);
    const some = round === 0 ? Math.min(jobs, WARM_UP_JOBS) : jobs;
    for (const kind of KINDS) {
      // What both kinds have enqueued is run.
      const order: Order = { kind, ...where, queue, jobs: kind === "work" ? 2 * some : some };
      const result = await service.measure(kind, order.jobs, () => peer.ask<Took>(order));
      if (round > 0) took[kind].push(result);
    }
  }
  await peer.stop();
  return took;
}

const speedOf = (rounds: readonly Took[]): number => median(rounds.map(({ perSecond }) => perSecond));

const shown = (rounds: readonly Took[]): string =>
  `${thousands(speedOf(rounds))} jobs/s, ${median(rounds.map(({ cpu }) => cpu)).toFixed(1)} µs of the client`;
