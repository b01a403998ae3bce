import { readdir } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { EmitEvent } from "../events.ts";
import { type Connection, clientConfig, isLockTimeout } from "./pool.ts";

const DIRECTORY = fileURLToPath(new URL("../../../migrations", import.meta.url));
const SCHEMA = "tidemill";
const TABLE = "migration";
const LOCK = 7_305_512_009;

/**
 * How long a migration waits for a lock. Statements of running nodes queue behind the migration. The first wait is shorter than the time
 * after which PostgreSQL looks for deadlocks (1 s), so that a migration gives way before a statement fails. If nodes are never idle for
 * that long, the second wait is longer: then PostgreSQL ends either the migration or the statement with which it is in a deadlock.
 * Milliseconds.
 */
const [SHORT_WAIT_MS, LONG_WAIT_MS] = [500, 5_000];
const SHORT_WAITS = 3;
const TRIES_A_WARNING = 20;
const PAUSE_MS = 1_000;
const DEADLOCK_DETECTED = "40P01";

/** Brings the schema up to date. Nodes that start at the same time take turns. It tries again if other statements hold locks that it needs. */
export async function migrate(connection: Connection, emit: EmitEvent): Promise<void> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 5_000 });
  // A broken connection fails the running statement. Without a listener, its error event would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    if ((await findPending(client)).length === 0) return;
    // The lock is released when the connection ends.
    await client.query("select pg_advisory_lock($1)", [LOCK]);
    const names = await findPending(client);
    if (names.length === 0) return;
    for (let tries = 0; !(await applied(client, tries < SHORT_WAITS ? SHORT_WAIT_MS : LONG_WAIT_MS)); tries += 1) {
      if (tries % TRIES_A_WARNING === 0) emit("migration_postponed", {});
      await wait(PAUSE_MS);
    }
    emit("migrations_ran", { names });
  } finally {
    await client.end();
  }
}

/** Applies pending migrations, each in a transaction. Returns whether all are applied; false: others hold locks that the next one needs. */
async function applied(dbClient: pg.Client, lockTimeoutMs: number): Promise<boolean> {
  const { runner } = await import("node-pg-migrate");
  await dbClient.query(`set lock_timeout = ${lockTimeoutMs}`);
  try {
    await runner({
      dbClient,
      dir: DIRECTORY,
      direction: "up",
      schema: SCHEMA,
      createSchema: true,
      migrationsTable: TABLE,
      noLock: true,
      // Branches add migrations in any order. None relies on one that may come later.
      checkOrder: false,
      log: () => {},
    });
    return true;
  } catch (error) {
    const { code } = error as { code?: string };
    if (!isLockTimeout(error) && code !== DEADLOCK_DETECTED) throw error;
    await dbClient.query("rollback");
    return false;
  }
}

async function findPending(client: pg.Client): Promise<string[]> {
  const files = (await readdir(DIRECTORY))
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.slice(0, -".sql".length))
    .sort();
  const table = await client.query<{ there: boolean }>("select to_regclass($1) is not null as there", [`${SCHEMA}.${TABLE}`]);
  if (!table.rows[0]?.there) return files;
  const ran = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE}`);
  const names = new Set(ran.rows.map(({ name }) => name));
  return files.filter((file) => !names.has(file));
}
