import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { EmitEvent } from "../events.ts";
import { type Blocker, listOpen, watchBlockers } from "./blockers.ts";
import { type Connection, clientConfig, isLockTimeout } from "./pool.ts";
import { MIGRATIONS, readSchemaState, refuseNewer, refuseOlder, type SchemaState } from "./schema-state.ts";
import type { Db } from "./sql.ts";

const LOCK = 7_305_512_009;

/**
 * How long a migration waits for one lock: briefly first, then longer with each try. Statements of running nodes queue behind it meanwhile.
 * The first waits are shorter than the time after which PostgreSQL looks for deadlocks (1 s), so that a migration gives way before a
 * statement fails. The later ones let statements end that take long, and let PostgreSQL cancel an autovacuum. A try needs several locks,
 * and keeps those that it has while it waits for the next one: it may take longer than one wait. Milliseconds.
 */
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5_000;
const GROWTH = 1.5;
/** The pause after a try that failed, in times of the try: what tries hold up is held up for at most a tenth of the time. */
const PAUSE_PER_TRY = 10;
/** How often to look, after the pause, whether the transactions are still open for whose locks the migration waited. Milliseconds. */
const LOOK_EVERY_MS = 500;
const LOOKS_PER_WARNING = 120;
const DEADLOCK_DETECTED = "40P01";
/** How long to wait for the turn of this node before it looks whether it is to stop. Milliseconds. */
const TURN_WAIT_MS = 1_000;
const TURNS_PER_REPORT = 60;

/**
 * Brings the schema up to date. Nodes that start at the same time take turns. If transactions hold locks that a migration needs, it waits
 * until they end.
 *
 * @param signal breaks it off; migrations that are complete stay
 * @throws {SchemaVersionError} when a newer version of the program has upgraded the database
 * @throws the reason of `signal`
 */
export const migrate = (connection: Connection, emit: EmitEvent, signal?: AbortSignal): Promise<void> =>
  inTurn({ connection, emit, signal }, (state) => {
    refuseNewer(state);
    return state.pending.length > 0;
  });

/**
 * Creates the schema in an empty database, as the first start of a node does. It upgrades no database.
 *
 * @param older whether the database of an older version is refused, or left as it is for work that may suit it
 * @throws {SchemaVersionError} when a newer version of the program has upgraded the database, or an older one that is refused has made it
 */
export const ensureSchema = (connection: Connection, emit: EmitEvent, older: "refuse" | "accept" = "refuse"): Promise<void> =>
  inTurn({ connection, emit, signal: undefined }, (state) => {
    refuseNewer(state);
    if (older === "refuse") refuseOlder(state);
    return state.isEmpty;
  });

interface Migration {
  readonly connection: Connection;
  readonly emit: EmitEvent;
  readonly signal: AbortSignal | undefined;
}

async function inTurn(migration: Migration, mustApply: (state: SchemaState) => boolean): Promise<void> {
  const { emit } = migration;
  const client = await connect(migration.connection);
  try {
    const db: Db = { query: ({ text, values }) => client.query(text, values) };
    if (!mustApply(await readSchemaState(db))) return;
    await takeTurn(client, migration);
    const state = await readSchemaState(db);
    if (!mustApply(state)) return;
    if (state.isEmpty) await create(client, state.pending);
    else await upgrade(client, state.pending, migration);
    emit("migrations_ran", { names: state.pending });
  } finally {
    await client.end();
  }
}

/** Takes the lock of migrations, which is released when the connection ends. */
async function takeTurn(client: pg.Client, { emit, signal }: Migration): Promise<void> {
  await client.query(`set lock_timeout = ${TURN_WAIT_MS}`);
  for (let tries = 0; ; tries += 1) {
    signal?.throwIfAborted();
    try {
      await client.query("select pg_advisory_lock($1)", [LOCK]);
      break;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tries % TURNS_PER_REPORT === 0) emit("migrations_awaited", {});
    }
  }
  await client.query("set lock_timeout = 0");
}

async function connect(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client({ ...clientConfig(connection), connectionTimeoutMillis: 5_000 });
  // A broken connection fails the running statement. Without a listener, its error event would end the process.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Creates the schema in one transaction: nobody sees a part of it. */
const create = (client: pg.Client, names: readonly string[]): Promise<void> =>
  inTransaction(client, async () => {
    await client.query(`
      create schema if not exists tidemill;
      set local search_path to tidemill;
      create table if not exists migration (id serial primary key, name varchar(255) not null, run_on timestamp not null)`);
    for (const name of names) await apply(client, name);
  });

/** Applies migrations, each in a transaction of its own: none holds its locks for longer than it must. */
async function upgrade(client: pg.Client, names: readonly string[], { connection, emit, signal }: Migration): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  const watcher = await connect(connection);
  try {
    for (const migration of names) {
      const postponed = (blockers: readonly Blocker[]) =>
        emit("migration_postponed", { migration, sessions: blockers.map(({ description }) => description) });
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(Math.round(waitMs * GROWTH), MAX_WAIT_MS)) {
        signal?.throwIfAborted();
        const startedMs = performance.now();
        const { result: isApplied, blockers } = await watchBlockers(watcher, pid, tryToApply(client, migration, waitMs), signal);
        if (isApplied) break;
        const tookMs = performance.now() - startedMs;
        signal?.throwIfAborted();
        postponed(blockers);
        await wait(PAUSE_PER_TRY * tookMs, undefined, { signal });
        await untilEnded(watcher, blockers, postponed, signal);
      }
    }
  } catch (error) {
    // What failed may have failed because it was cancelled.
    signal?.throwIfAborted();
    throw error;
  } finally {
    await watcher.end();
  }
}

/** Waits until transactions have ended. While they are open, another try would only hold up others. */
async function untilEnded(
  watcher: pg.Client,
  blockers: readonly Blocker[],
  remind: (open: readonly Blocker[]) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  let open = await listOpen(watcher, blockers);
  for (let looks = 1; open.length > 0; looks += 1) {
    if (looks % LOOKS_PER_WARNING === 0) remind(open);
    await wait(LOOK_EVERY_MS, undefined, { signal });
    open = await listOpen(watcher, blockers);
  }
}

/** Returns whether the migration is applied; false: others hold locks that it needs. */
async function tryToApply(client: pg.Client, name: string, lockTimeoutMs: number): Promise<boolean> {
  try {
    await inTransaction(client, async () => {
      await client.query(`set local search_path to tidemill; set local lock_timeout = ${lockTimeoutMs}`);
      await apply(client, name);
    });
    return true;
  } catch (error) {
    if (isLockTimeout(error) || (error as { code?: string }).code === DEADLOCK_DETECTED) return false;
    throw error;
  }
}

async function apply(client: pg.Client, name: string): Promise<void> {
  const text = await readFile(path.join(MIGRATIONS, `${name}.sql`), "utf8");
  // A statement locks the view of a table before the table. A migration that locked its tables first would meet it in a deadlock.
  if (text.includes("make_tenant_views()")) await client.query("drop schema if exists tidemill_tenant cascade");
  await client.query(text);
  await client.query("insert into migration (name, run_on) values ($1, now())", [name]);
}

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    // A broken connection has rolled back already.
    await client.query("rollback").catch(() => {});
    throw error;
  }
}
