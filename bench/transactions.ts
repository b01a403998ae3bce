import { type Db, row, sql } from "../packages/server/src/kernel/index.ts";

/** Transactions of the database since it was made. */
export const countTransactions = async (db: Db): Promise<number> =>
  (await row<{ n: number }>(db, sql`select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()`))
    ?.n ?? 0;
