import pg from "pg";
import { type Connection, clientConfig, refuse } from "./pool.ts";

/** Whoever holds a lock for longer than this is taken for stuck. Milliseconds. */
const PATIENCE_MS = 60_000;

/**
 * Takes an advisory lock of the database, on a connection of its own; whoever has it is waited for. Answers what gives it back.
 *
 * @throws UNAVAILABLE when the database is away, or the lock is not given back within a minute
 */
export async function takeLock(connection: Connection, lock: number): Promise<() => Promise<void>> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 5_000, statement_timeout: PATIENCE_MS });
  // A connection that breaks gives the lock back; without a listener the event would end the process.
  client.on("error", () => {});
  await client.connect().catch(refuse);
  try {
    await client.query("select pg_advisory_lock($1)", [lock]);
  } catch (error) {
    await client.end();
    refuse(error);
  }
  let ended: Promise<void> | undefined;
  return () => (ended ??= client.end());
}
