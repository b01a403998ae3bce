import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { EmitEvent } from "../events.ts";
import { type Connection, clientConfig } from "./pool.ts";

const DIRECTORY = fileURLToPath(new URL("../../../migrations", import.meta.url));
const SCHEMA = "tidemill";
const TABLE = "migration";
const LOCK = 7_305_512_009;

/** Brings the schema up to date. Nodes that start at the same time take turns. */
export async function migrate(connection: Connection, emit: EmitEvent): Promise<void> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 5_000 });
  // A broken connection fails the running statement. Without a listener, its error event would end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    if ((await pending(client)) === 0) return;
    // The lock is released when the connection ends.
    await client.query("select pg_advisory_lock($1)", [LOCK]);
    const { runner } = await import("node-pg-migrate");
    const ran = await runner({
      dbClient: client,
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
    if (ran.length > 0) emit("migrations_ran", { names: ran.map(({ name }) => name) });
  } finally {
    await client.end();
  }
}

async function pending(client: pg.Client): Promise<number> {
  const files = (await readdir(DIRECTORY)).filter((file) => file.endsWith(".sql")).map((file) => file.slice(0, -".sql".length));
  const table = await client.query<{ there: boolean }>("select to_regclass($1) is not null as there", [`${SCHEMA}.${TABLE}`]);
  if (!table.rows[0]?.there) return files.length;
  const ran = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE}`);
  const names = new Set(ran.rows.map(({ name }) => name));
  return files.filter((file) => !names.has(file)).length;
}
