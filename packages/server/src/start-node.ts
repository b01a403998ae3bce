import { countNodes } from "#engine";
import {
  type Config,
  createMetrics,
  DatabaseClock,
  defaultMaxConnections,
  defaultMemoryMib,
  Events,
  limitHeapGrowth,
  logEvents,
  measureLoopDelay,
  migrate,
  observeShares,
  type Random,
  readFileLimit,
  readSchemaState,
  Shares,
  systemRandom,
  tolerate,
} from "#kernel";
import { maintainPartitions } from "#retention";
import { checkMasterKey, openVault } from "#vault";
import { checkConnections, divideConnections, type OpenDatabases, openDatabases } from "./databases.ts";
import { checkListenerPorts } from "./listeners.ts";
import { composeNode } from "./main.ts";
import { VERSION } from "./version.ts";

/** A running node. */
export interface Node {
  readonly url: string;
  readonly internalUrl: string;
  /** The first workspace's key if this start made it, otherwise null. */
  readonly firstKey: string | null;
  /** The link for the first person of the dashboard while there is nobody, otherwise null. */
  readonly setupUrl: string | null;
  /** Finishes what is under way, releases the rest, and closes. */
  stop(): Promise<void>;
  /** Looks for work now instead of at the next poll. */
  wake(): void;
}

/** What tests can replace. */
export interface Replacements {
  readonly clock?: DatabaseClock;
  readonly random?: Random;
  readonly events?: Events;
}

/**
 * Starts a node: opens its database, applies migrations, opens the vault, and starts its parts (main.ts).
 *
 * @param signal breaks the start off before the node registers, even while a migration waits
 * @throws the reason of `signal`, or an error whose `code` says what is wrong: `EADDRINUSE`, `UNAVAILABLE`, `DATABASE_UNUSABLE`, `SCHEMA_VERSION`, `MASTER_KEY_UNUSABLE`, or one of the embedded PostgreSQL's
 */
export async function startNode(
  config: Config,
  { clock, random, events = new Events() }: Replacements = {},
  signal?: AbortSignal,
): Promise<Node> {
  limitHeapGrowth(config.memoryMib ?? defaultMemoryMib());
  const { emit } = events;
  const metrics = createMetrics(events);
  measureLoopDelay(metrics);
  logEvents(events, config.logLevel);
  const clientConnections = config.maxConnections ?? defaultMaxConnections(readFileLimit(), config);
  const shares = new Shares({ ...config, clientConnections, tenantConnections: divideConnections(config).tenants, emit });
  observeShares(metrics, shares);
  const databases = await openDatabases(config, "owner", emit, shares);
  const close = () =>
    tolerate(
      () => databases.close(),
      (error) => emit("close_failed", { error }),
    );
  try {
    const node = await startOn(databases, signal, {
      config,
      shares,
      clock: clock ?? new DatabaseClock(),
      random: random ?? systemRandom,
      emit,
      metrics,
    });
    const stop = async () => {
      await node.services.stop();
      await close();
      emit("node_stopped", {});
    };
    let stopped: Promise<void> | undefined;
    const { services } = node;
    return {
      url: node.listeners.url(),
      internalUrl: node.listeners.internalUrl(),
      firstKey: node.firstKey(),
      setupUrl: node.setupUrl(),
      stop: () => (stopped ??= stop()),
      wake: () => services.wake(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Parts = Omit<Parameters<typeof composeNode>[0], "databases" | "openVault">;

async function startOn(
  databases: OpenDatabases,
  signal: AbortSignal | undefined,
  parts: Parts,
): Promise<Awaited<ReturnType<typeof composeNode>>> {
  const { config, random, emit } = parts;
  const { connection, engine: db } = databases;
  await checkConnections(databases, config, emit);
  if ((await readSchemaState(db)).pending.length > 0) {
    // A start that fails must not leave an upgraded database, on which the version before does not start any more.
    await checkListenerPorts(config);
    await checkMasterKey(config, db, countNodes);
  }
  await migrate(connection, emit, signal);
  signal?.throwIfAborted();
  // Before any job finishes: rows that went to the default partition must move when the partition of their month is made.
  await tolerate(
    () => maintainPartitions(db, emit),
    (error) => emit("partitions_failed", { error }),
  );
  const vault = await openVault({ config, connection, db, random, emit, countNodes });
  try {
    const node = await composeNode({ ...parts, databases, openVault: vault });
    await node.services.start();
    void databases.openForRequests();
    emit("node_started", { leaseId: node.lease.id, url: node.listeners.url(), version: VERSION });
    return node;
  } catch (error) {
    await vault.releaseLock();
    throw error;
  }
}
