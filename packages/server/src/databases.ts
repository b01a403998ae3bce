import {
  type Config,
  type Connection,
  Database,
  type EmitEvent,
  explainTlsFailure,
  FairQueue,
  judgeRoom,
  type LockWaits,
  PoolGroup,
  readConnectionLimits,
  rows,
  SerialDatabase,
  type Shares,
  sql,
  Tenants,
  type Transactional,
  withTlsMode,
} from "#kernel";

/**
 * How the connections of a node are divided. The rest is for requests of workspaces. The engine may use two of its own for a long time: to
 * move jobs that are due, and to look up the longest waiting ones. With only one more, settles and secrets would wait for each other.
 * Statements that wait for locks hold one each, for up to the statement timeout: `lockWaits` limits them, and secrets wait while other nodes
 * append to the audit chains of their workspaces. A count of the jobs of a workspace holds one, on one node at a time.
 */
const ENGINE_CONNECTIONS = 4;
/** How many of these are kept from statements that took too long last. */
const ENGINE_CONNECTIONS_NOT_WAITING = 2;
/** A node uses up to two at the same time for its own claims. The third is for workers. */
const CLAIM_CONNECTIONS = 3;
const API_CONNECTIONS = 2;
const WRITE_CONNECTIONS = 3;
const LEASE_CONNECTIONS = 1;
/** `LISTEN` has a connection of its own. */
const LISTEN_CONNECTIONS = 1;

export interface OpenDatabases {
  readonly connection: Connection;
  /** Connections for short statements of requests that cross workspaces: finding the principal of a key, counting requests. */
  readonly api: Database;
  /** Connections for storing jobs of many callers together. These statements may take long, and wait for locks. */
  readonly writes: Database;
  /** Connections for requests of one workspace, which see only its rows. */
  readonly tenants: Tenants;
  /** Connections for the engine and the background loops, so that many requests cannot keep jobs from being settled. */
  readonly engine: Database;
  /** The turns of statements that wait for locks with a connection of `engine`. */
  readonly lockWaits: LockWaits;
  /**
   * Connections for claims, which read the jobs of a lane in order. A new database has no statistics for its first minute: without them the
   * planner would read and sort all jobs of the lane for each claim.
   */
  readonly claims: Database;
  /** The connection for loops that keep tables small: one connection of `engine` at a time. */
  readonly housekeeping: Transactional;
  /**
   * The connection for counting all jobs, which may take minutes: a connection of `engine` beside that of `housekeeping`, if it has more
   * than these two.
   */
  readonly recounts: Transactional;
  /** A connection only for the lease: if a renewal had to wait for a connection, the node might lose all its jobs in flight. */
  readonly lease: Database;
  /** Closes a connection of one of these, if PostgreSQL refuses one that is opened outside of them: the one that listens. */
  makeRoom(): Promise<unknown>;
  /** Opens all connections of `api`, `writes` and `tenants`. Otherwise requests of a burst would wait for them. */
  openForRequests(): Promise<void>;
  close(): Promise<void>;
}

/** The database in `DATABASE_URL` cannot be used. The message is one line for the person who set it. */
class DatabaseUnusableError extends Error {
  override readonly name = "DatabaseUnusableError";
  readonly code = "DATABASE_UNUSABLE";

  constructor(cause: unknown) {
    super(`The database in DATABASE_URL cannot be used: ${reasonOf(cause)}.`, { cause });
  }
}

/** The database allows fewer connections than the node needs. The message says which limit, and what to do. */
class TooFewConnectionsError extends Error {
  override readonly name = "TooFewConnectionsError";
  readonly code = "DATABASE_UNUSABLE";
}

/**
 * Connects to the database of the configuration, or to the embedded PostgreSQL, which it starts if necessary.
 *
 * @param as an owner stops the embedded PostgreSQL when it closes; a guest leaves one that it found running
 * @throws {DatabaseUnusableError} when no server responds within some seconds, or it refuses the connection
 * @throws {EmbeddedPostgresError} when the embedded PostgreSQL cannot be used
 */
export async function openDatabases(
  config: Config,
  as: "owner" | "guest",
  emit: EmitEvent,
  shares?: Pick<Shares, "connections">,
): Promise<OpenDatabases> {
  const embedded = config.databaseUrl === null ? await startEmbedded(config, as, emit) : null;
  const connection: Connection = embedded?.connection ?? { connectionString: withTlsMode(config.databaseUrl ?? "") };
  const group = new PoolGroup(emit);
  const options = (size: number) => ({ connection, size, statementTimeoutMs: config.statementTimeoutMs, group });
  const sizes = divideConnections(config);
  // Jobs are claimed and settled as usual, whatever requests use.
  const engine = new Database({ ...options(sizes.engine), needs: sizes.engine });
  const claims = new Database({ ...options(sizes.claims), needs: sizes.claims, inOrder: true });
  const lease = new Database(options(LEASE_CONNECTIONS));
  const api = new Database(options(sizes.api));
  const writes = new Database(options(sizes.writes));
  const tenants = new Tenants(options(sizes.tenants), shares?.connections);
  const openForRequests = async () => {
    await Promise.all([api.open(), writes.open(), tenants.open()]);
  };
  const close = async () => {
    await Promise.all([api.close(), writes.close(), tenants.close(), engine.close(), claims.close(), lease.close()]);
    await embedded?.stop();
  };
  const lockWaits = new FairQueue({ maxConcurrent: Math.max(1, sizes.engine - ENGINE_CONNECTIONS_NOT_WAITING) });
  const housekeeping = new SerialDatabase(engine);
  const recounts = sizes.engine > 2 ? engine : housekeeping;
  try {
    await rows(api, sql`select 1`);
  } catch (error) {
    await close();
    throw embedded ? error : new DatabaseUnusableError(error);
  }
  const makeRoom = () => group.makeRoom();
  return { connection, api, writes, tenants, engine, lockWaits, claims, housekeeping, recounts, lease, makeRoom, openForRequests, close };
}

/**
 * Checks that a node may open its connections. Those that others use may become free later, so they only cause a warning as long as the
 * node can work.
 *
 * @throws {TooFewConnectionsError}
 */
export async function checkConnections({ api }: OpenDatabases, { databaseConnections: wanted }: Config, emit: EmitEvent): Promise<void> {
  const { status, free, message } = judgeRoom(await readConnectionLimits(api), wanted);
  if (status === "too few") throw new TooFewConnectionsError(message);
  if (status === "scarce") emit("database_connections_limited", { free, wanted, reason: message });
}

/** How many connections each part of a node has. */
export function divideConnections({ databaseConnections }: Config): Record<"engine" | "claims" | "api" | "writes" | "tenants", number> {
  const all = databaseConnections - LEASE_CONNECTIONS - LISTEN_CONNECTIONS;
  const claims = Math.min(CLAIM_CONNECTIONS, Math.floor(all / 5));
  const engine = Math.min(ENGINE_CONNECTIONS, Math.floor(all / 2) - claims);
  const requests = all - engine - claims;
  const api = Math.max(1, Math.min(API_CONNECTIONS, Math.floor(requests / 4)));
  const writes = Math.max(1, Math.min(WRITE_CONNECTIONS, Math.floor((requests - api) / 2)));
  return { engine, claims, api, writes, tenants: requests - api - writes };
}

/** The message of the original error. A host name with several addresses fails with one error for each; this takes the first. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  if (cause !== undefined) return reasonOf(cause);
  const original = (error instanceof AggregateError ? error.errors[0] : error) as Error;
  return explainTlsFailure(original) ?? original.message.replace(/\.$/, "");
}

async function startEmbedded(config: Config, as: "owner" | "guest", emit: EmitEvent) {
  // Loaded only when it is needed.
  const { startEmbeddedPostgres } = await import("./kernel/database/embedded/index.ts");
  return startEmbeddedPostgres({ dataDir: config.dataDir, as, emit });
}
