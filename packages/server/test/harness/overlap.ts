import type { Transactional } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { until } from "./service.ts";

/** Runs work in a transaction that ends one way or the other. */
export type Run = (work: (tx: Transactional) => Promise<unknown>) => Promise<unknown>;

/** Has `first` stand between its work and the end of its transaction until `second` is done, or waits for it. */
export async function overlap(
  database: TestDatabase,
  run: Run,
  first: (tx: Transactional) => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<void> {
  let done = false;
  let other: Promise<unknown> | undefined;
  await run(async (tx) => {
    await first(tx);
    other = second().finally(() => {
      done = true;
    });
    await until(async () => done || (await isAnyLockAwaited(database)), "the other to be done, or to wait");
  });
  await other;
}

/** Whether a statement in the database waits for a lock. */
export const isAnyLockAwaited = async (database: TestDatabase): Promise<boolean> =>
  (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;
