import pg from "pg";
import { type Connection, clientConfig, rethrow } from "./pool.ts";

/** How long to wait for the holder of the lock. Milliseconds. */
const MAX_WAIT_MS = 60_000;

/**
 * Takes an advisory lock of the database on its own connection, and waits for it if necessary. Returns a function that releases it.
 *
 * @throws UNAVAILABLE when the database is unavailable, or the lock is not released within a minute
 */
export async function takeLock(connection: Connection, lock: number): Promise<() => Promise<void>> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 5_000, statement_timeout: MAX_WAIT_MS });
  // A broken connection releases the lock. Without a listener, its error event would end the process.
  client.on("error", () => {});
  await client.connect().catch(rethrow);
  try {
    await client.query("select pg_advisory_lock($1)", [lock]);
  } catch (error) {
    await client.end();
    rethrow(error);
  }
  let ended: Promise<void> | undefined;
  return () => (ended ??= client.end());
}
