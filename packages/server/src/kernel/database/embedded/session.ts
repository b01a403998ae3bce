import { open } from "node:fs/promises";
import { connect } from "node:net";
import { endianness } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { systemCode } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";

/** Name of the database superuser and of the database. */
export const NAME = "tidemill";
/** PostgreSQL names its socket after a port even when it opens none. */
const PORT = 5432;
export const SOCKET_NAME = `.s.PGSQL.${PORT}`;
const CONNECT_TIMEOUT_MS = 10_000;

export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

export const connectionTo = (sockets: string, database = NAME): Connection => ({ host: sockets, port: PORT, user: NAME, database });

/** Whether a server listens on the socket in this directory. It may not accept connections at the moment. */
export const isListening = (sockets: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(join(sockets, SOCKET_NAME));
    const settle = (listening: boolean) => {
      socket.destroy();
      resolve(listening);
    };
    // EAGAIN: its queue of connections is full.
    socket.once("connect", () => settle(true)).once("error", (error) => settle(systemCode(error) === "EAGAIN"));
  });

/**
 * Checks that the socket belongs to the cluster's own server, and creates the database if it is missing. Fails with the error of
 * node-postgres when the server is shutting down, gone or full.
 *
 * @throws {EmbeddedPostgresError} IN_USE_ELSEWHERE when the socket belongs to another cluster
 */
export async function verifyServer(sockets: string, cluster: string): Promise<void> {
  // Not to Tidemill's database, which is missing if the first start was interrupted.
  await withClient(connectionTo(sockets, "postgres"), async (client) => {
    const { rows } = await client.query<{ cluster: string; complete: boolean }>(
      `select system_identifier::text as cluster, exists (select from pg_database where datname = '${NAME}') as complete
       from pg_control_system()`,
    );
    if (rows[0]?.cluster !== (await systemIdentifier(cluster))) {
      throw new EmbeddedPostgresError("IN_USE_ELSEWHERE", `The server at ${sockets} does not serve ${cluster}. Stop it.`);
    }
    if (!rows[0].complete) await client.query(`create database ${NAME} strategy file_copy`);
  });
}

async function withClient(connection: Connection, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...connection, ssl: false, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // When the server dies, the running query fails. The event adds nothing.
  client.on("error", () => {});
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/** The cluster's unique identifier from initdb: the first eight bytes of its control file. */
async function systemIdentifier(cluster: string): Promise<string> {
  const file = await open(join(cluster, "global/pg_control"), "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0);
    return String(endianness() === "BE" ? buffer.readBigUInt64BE() : buffer.readBigUInt64LE());
  } finally {
    await file.close();
  }
}
