import { sampleBodies } from "./bare-bodies.ts";
import type { Order } from "./client-orders.ts";
import type { BenchNode, Environment } from "./environment.ts";
import { Peer } from "./processes.ts";
import { processorOfPostgres, processorOfProcess } from "./processor.ts";
import { type RedisDurability, startRedis } from "./redis.ts";

type Bars = Partial<Record<Order["kind"], number>>;

/** What runs jobs in a comparison: a client's process, and servers. */
export interface Side {
  readonly name: string;
  readonly client: Peer;
  readonly where: Pick<Order, "url" | "key">;
  /** How many jobs of a round it gets, as a part of all. The slow ones get fewer. */
  readonly share: number;
  /** Processor time of its servers since they were started, by their names. Seconds. */
  readonly servers: Readonly<Record<string, () => number>>;
  /** What Tidemill's speed must be, as a multiple of this one's. */
  readonly bars: Bars;
  createQueue?(name: string): Promise<unknown>;
  stop(): Promise<unknown>;
}

interface Options extends Partial<Pick<Side, "share" | "bars" | "createQueue">> {
  readonly env?: Record<string, string>;
  readonly key?: string;
  readonly stop?: () => Promise<unknown>;
}

async function sideOf(name: string, file: string, url: string, servers: Side["servers"], options: Options = {}): Promise<Side> {
  const { env = {}, key = "", share = 1, bars = {}, createQueue, stop } = options;
  const { peer: client } = await Peer.start(file, env);
  return {
    name,
    client,
    where: { url, key },
    share,
    servers,
    bars,
    ...(createQueue && { createQueue }),
    async stop() {
      await client.stop();
      await stop?.();
    },
  };
}

export const tidemill = (environment: Environment, node: BenchNode): Promise<Side> =>
  sideOf(
    "Tidemill",
    "sdk",
    node.url,
    { "the node": () => processorOfProcess(node.peer.pid), ...postgresOf(environment) },
    { key: environment.key, createQueue: (name) => node.api("POST", "/v1/queues", { name }), stop: () => node.stop() },
  );

const postgresOf = ({ connection }: Environment) => ({ PostgreSQL: () => processorOfPostgres(connection.host) });

async function bullmq(name: string, durability: RedisDurability, bars: Bars = {}): Promise<Side | string> {
  const redis = await startRedis(durability);
  if (!redis) return name;
  return sideOf(name, "bullmq", redis.url, { Redis: () => processorOfProcess(redis.pid) }, { bars, stop: () => redis.stop() });
}

const onPostgres = (environment: Environment, name: string, file: string, options: Options = {}): Promise<Side> =>
  sideOf(name, file, JSON.stringify(environment.connection), postgresOf(environment), options);

/** Of the peers on PostgreSQL: they take a while. */
const SLOW = 0.5;
const SLOWEST = 0.1;

/** The systems that Tidemill is compared with, by their names in `--peers`. Each starts, or says the name of what is not installed. */
export const PEERS: Readonly<Record<string, (environment: Environment) => Promise<Side | string>>> = {
  redis: () => bullmq("BullMQ on Redis, in memory only", "memory", { enqueue: 1.5, enqueueMany: 2, work: 2 }),
  "redis-everysec": () => bullmq("BullMQ on Redis with appendfsync everysec", "everysec"),
  "redis-always": () => bullmq("BullMQ on Redis with appendfsync always", "always"),
  "graphile-worker": (environment) =>
    onPostgres(environment, "graphile-worker with its local queue", "graphile-worker", { bars: { work: 1 }, share: SLOW }),
  "graphile-worker-batches": (environment) =>
    onPostgres(environment, "graphile-worker with its local queue and completions in batches", "graphile-worker", {
      env: { BENCH_BATCH_COMPLETIONS: "1" },
      share: SLOW,
    }),
  "bullmq-postgres": (environment) => onPostgres(environment, "BullMQ on PostgreSQL", "bullmq-postgres", { share: SLOWEST }),
  "pg-boss": (environment) => onPostgres(environment, "pg-boss", "pg-boss", { share: SLOWEST }),
};

/** The parts that nothing of Tidemill's kind can do without: durable rows in PostgreSQL, and requests with JSON in them. */
export interface Floors {
  readonly postgres: Side;
  /** With all indexes and constraints that jobs have. */
  readonly indexed: Side;
  readonly http: Side;
}

export async function floors(environment: Environment, node: BenchNode): Promise<Floors> {
  const { peer: server, said } = await Peer.start<{ url: string }>("bare-server");
  await server.ask(await sampleBodies(node));
  const servers = { "the server": () => processorOfProcess(server.pid) };
  return {
    postgres: await onPostgres(environment, "PostgreSQL alone, only primary keys", "bare-postgres"),
    indexed: await onPostgres(environment, "PostgreSQL alone, all indexes", "bare-postgres", { env: { BENCH_INDEXED: "1" } }),
    http: await sideOf("HTTP alone", "bare-client", said.url, servers, { stop: () => server.stop() }),
  };
}
