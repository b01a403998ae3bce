import type { Db, Transactional } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { backendOf, countWaitingFor } from "./locks.ts";
import { until } from "./service.ts";

/** Runs work in a transaction, which it commits or rolls back. */
export type Run = (work: (tx: Transactional) => Promise<unknown>) => Promise<unknown>;

/** A transaction as a database: work that opens a transaction becomes a part of it. */
export const within = (tx: Db): Transactional => ({ query: (statement) => tx.query(statement), transaction: (work) => work(tx) });

/** Runs `first` in a transaction, and `second` before that transaction ends. It ends when `second` is done, or waits for a lock. */
export async function overlap(
  engine: Db,
  run: Run,
  first: (tx: Transactional) => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<void> {
  let done = false;
  let other: Promise<unknown> | undefined;
  await run(async (tx) => {
    await first(tx);
    const backend = await backendOf(tx);
    other = second().finally(() => {
      done = true;
    });
    await until(async () => done || (await countWaitingFor(engine, backend)) > 0, "the second one to be done, or to wait for a lock");
  });
  await other;
}

/** Whether any statement in the database waits for a lock. */
export const isAnyLockAwaited = async (database: TestDatabase): Promise<boolean> =>
  (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;
