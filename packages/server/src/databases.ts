import { type Config, type Connection, Database, type EmitEvent } from "#kernel";

/** The engine's share of a node's connections; one more listens. */
const ENGINE_CONNECTIONS = 5;
const LISTENING = 1;

export interface OpenDatabases {
  readonly connection: Connection;
  /** For requests. */
  readonly api: Database;
  /** For the loops and the dispatcher: a flood of requests must not keep them from settling. */
  readonly engine: Database;
  close(): Promise<void>;
}

/** Connects to the database of the configuration, or starts the embedded one. As a guest, it is left as it was found. */
export async function openDatabases(config: Config, as: "owner" | "guest", emit: EmitEvent): Promise<OpenDatabases> {
  const embedded = config.databaseUrl === null ? await startEmbedded(config, as, emit) : null;
  const connection: Connection = embedded?.connection ?? { connectionString: config.databaseUrl ?? "" };
  const open = (size: number) => new Database({ connection, size, statementTimeoutMs: config.statementTimeoutMs });
  const engineSize = Math.min(ENGINE_CONNECTIONS, Math.floor(config.databaseConnections / 2));
  const engine = open(engineSize);
  const api = open(Math.max(1, config.databaseConnections - engineSize - LISTENING));
  return {
    connection,
    api,
    engine,
    close: async () => {
      await Promise.all([api.close(), engine.close()]);
      await embedded?.stop();
    },
  };
}

async function startEmbedded(config: Config, as: "owner" | "guest", emit: EmitEvent) {
  // Not needed with a database of one's own, so not loaded then.
  const { startEmbeddedPostgres } = await import("./kernel/database/embedded/index.ts");
  return startEmbeddedPostgres({ dataDir: config.dataDir, as, emit });
}
