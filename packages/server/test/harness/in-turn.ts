import type { Database, Statement } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { hold } from "./locks.ts";
import { until } from "./service.ts";

/** How many statements in the database wait for a lock. */
const countWaiting = async (database: TestDatabase): Promise<number> =>
  (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length;

/**
 * Has steps meet at a lock that the test holds: each begins once those before it wait there, and they get the lock in that order. So
 * either side of a race wins when a test wants it to.
 *
 * @param lock takes a row or a table that every step needs
 */
export async function inTurn(
  { engine, database }: { engine: Database; database: TestDatabase },
  lock: Statement,
  steps: readonly (() => unknown)[],
): Promise<void> {
  const held = hold(engine, lock);
  await held.held;
  try {
    for (const [index, step] of steps.entries()) {
      step();
      await until(async () => (await countWaiting(database)) > index, `step ${index + 1} of ${steps.length} to wait for the lock`);
    }
  } finally {
    await held.release();
  }
}
