import { onTestFinished } from "vitest";
import { type Database, type Db, rows, type Statement, sql } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { until } from "./service.ts";

/** A lock that a test holds until it releases it. */
export interface HeldLock {
  /** Resolves when it is held. */
  readonly held: Promise<void>;
  /** Waits until so many statements wait for it, or for others that do. Statements that wait for anything else are not counted. */
  untilWaiting(count: number): Promise<void>;
  release(): Promise<void>;
}

/** Takes a lock with a statement. Waits while other transactions hold it. It is released when the test has ended, at the latest. */
export function hold(engine: Database, statement: Statement): HeldLock {
  const [held, released] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  const done = engine.transaction(async (tx) => {
    await tx.query(statement);
    held.resolve(await backendOf(tx));
    await released.promise;
  });
  // Else a test that fails would leave a connection that cannot be closed, and its file would not end.
  onTestFinished(() => released.resolve());
  const release = () => {
    released.resolve();
    return done;
  };
  return {
    held: held.promise.then(() => {}),
    release,
    untilWaiting: async (count) => untilWaitingFor(engine, await held.promise, count),
  };
}

/** The process in PostgreSQL that executes a transaction. */
export async function backendOf(tx: Db): Promise<number> {
  const [own] = await rows<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`);
  return own?.pid ?? 0;
}

/** Waits until so many statements wait for a transaction, or for others that do. Those that wait for anything else are not counted. */
export const untilWaitingFor = (engine: Db, backend: number, count: number): Promise<void> =>
  until(async () => (await countWaitingFor(engine, backend)) >= count, `${count} statements to wait for a lock`);

export async function countWaitingFor(engine: Db, backend: number): Promise<number> {
  const [found] = await rows<{ count: number }>(
    engine,
    sql`
      with recursive client as materialized (
        select pid, pg_blocking_pids(pid) as blockers from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and wait_event_type = 'Lock'
      ), waiting (pid) as (
        select ${backend}::int
        union
        select client.pid from client join waiting on waiting.pid = any(client.blockers)
      )
      select count(*)::int - 1 as count from waiting`,
  );
  return found?.count ?? 0;
}

/** How many statements that contain this text wait for a lock. */
export async function countWaiting(database: TestDatabase, text: string): Promise<number> {
  const found = await database.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0",
    [text],
  );
  return found.length;
}

/** Whether a statement that contains this text waits for a lock. */
export const isWaiting = async (database: TestDatabase, text: string): Promise<boolean> => (await countWaiting(database, text)) > 0;
