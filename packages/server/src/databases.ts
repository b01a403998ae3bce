import { type Config, type Connection, Database, type EmitEvent, rows, sql, Tenants } from "#kernel";

/** The most connections of the engine, and of what requests need across workspaces; one more renews the lease, and one listens. */
const ENGINE_CONNECTIONS = 5;
const API_CONNECTIONS = 3;
const LEASE_CONNECTIONS = 1;
const LISTENING = 1;

export interface OpenDatabases {
  readonly connection: Connection;
  /** For what requests need across workspaces: whose key it is, and storing the jobs of all callers together. */
  readonly api: Database;
  /** For requests of a workspace, walled off from the others. */
  readonly tenants: Tenants;
  /** For the loops and the dispatcher: a flood of requests must not keep them from settling. */
  readonly engine: Database;
  /** For the lease alone: a renewal that waits in line costs the node all that it has under way. */
  readonly lease: Database;
  close(): Promise<void>;
}

/** The database of `DATABASE_URL` cannot be used. The message is one line for the person who set it. */
class DatabaseUnusableError extends Error {
  override readonly name = "DatabaseUnusableError";
  readonly code = "DATABASE_UNUSABLE";

  constructor(cause: unknown) {
    super(`The database of DATABASE_URL cannot be used: ${reasonOf(cause)}.`, { cause });
  }
}

/**
 * Connects to the database of the configuration, or starts the embedded one. As a guest, it is left as it was found.
 *
 * @throws {DatabaseUnusableError} when nothing answers there within some seconds, or it does not let us in; or an error of the
 *   embedded PostgreSQL
 */
export async function openDatabases(config: Config, as: "owner" | "guest", emit: EmitEvent): Promise<OpenDatabases> {
  const embedded = config.databaseUrl === null ? await startEmbedded(config, as, emit) : null;
  const connection: Connection = embedded?.connection ?? { connectionString: config.databaseUrl ?? "" };
  const options = (size: number) => ({ connection, size, statementTimeoutMs: config.statementTimeoutMs });
  const free = config.databaseConnections - LEASE_CONNECTIONS - LISTENING;
  const engineSize = Math.min(ENGINE_CONNECTIONS, Math.floor(free / 2));
  const apiSize = Math.min(API_CONNECTIONS, Math.floor((free - engineSize) / 2));
  const engine = new Database(options(engineSize));
  const lease = new Database(options(LEASE_CONNECTIONS));
  const api = new Database(options(apiSize));
  const tenants = new Tenants(options(free - engineSize - apiSize));
  const close = async () => {
    await Promise.all([api.close(), tenants.close(), engine.close(), lease.close()]);
    await embedded?.stop();
  };
  try {
    await rows(api, sql`select 1`);
  } catch (error) {
    await close();
    throw embedded ? error : new DatabaseUnusableError(error);
  }
  return { connection, api, tenants, engine, lease, close };
}

/** The first word of whoever refused: a name with several addresses fails with one error for each. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  if (cause !== undefined) return reasonOf(cause);
  const { message } = error instanceof AggregateError ? (error.errors[0] as Error) : (error as Error);
  return message.replace(/\.$/, "");
}

async function startEmbedded(config: Config, as: "owner" | "guest", emit: EmitEvent) {
  // Not needed with a database of one's own, so not loaded then.
  const { startEmbeddedPostgres } = await import("./kernel/database/embedded/index.ts");
  return startEmbeddedPostgres({ dataDir: config.dataDir, as, emit });
}
