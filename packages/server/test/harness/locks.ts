import type { Database, Statement } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { until } from "./service.ts";

/** A lock that a test holds until it releases it. */
export interface HeldLock {
  /** Resolves when it is held. */
  readonly held: Promise<void>;
  release(): Promise<void>;
}

/** Takes a lock with a statement. Waits while other transactions hold it. */
export function hold(engine: Database, statement: Statement): HeldLock {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = engine.transaction(async (tx) => {
    await tx.query(statement);
    held.resolve();
    await released.promise;
  });
  const release = () => {
    released.resolve();
    return done;
  };
  return { held: held.promise, release };
}

/** Whether a statement that contains this text waits for a lock. */
export const isWaiting = async (database: TestDatabase, text: string): Promise<boolean> =>
  (
    await database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0",
      [text],
    )
  ).length > 0;

/** Waits until so many statements wait for locks. */
export const untilWaiting = (database: TestDatabase, count: number): Promise<void> =>
  until(async () => {
    const found = await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
    return found.length === count;
  }, `${count} statements to wait for locks`);
