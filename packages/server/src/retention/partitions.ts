import { type Database, type Db, type EmitEvent, rows, sql } from "#kernel";

/** How far ahead partitions stand ready: a year, the longest retention of a plan, and some. Months. */
const MONTHS_AHEAD = 14;

/**
 * Makes the history partitions of the coming months, and drops those whose jobs have all expired. Nodes take turns; whoever
 * comes second finds nothing to do. Each step is a transaction of its own that gives up rather than have settles wait behind
 * it; the next pass tries again.
 */
export async function keepPartitions(database: Database, emit: EmitEvent): Promise<void> {
  for (let month = 0; month <= MONTHS_AHEAD; month += 1) await step(database, (tx) => make(tx, month));
  // Months that passed while nobody looked were never made: what expired in them stands in the default partition.
  await step(database, (tx) => rows(tx, sql`delete from job_history_later where expires_at <= moment()`));
  const dropped = await step(database, (tx) => rows<{ name: string }>(tx, sql`select drop_history_partitions(moment()::date) as name`));
  if (dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
}

const make = (tx: Db, month: number): Promise<unknown[]> =>
  rows(tx, sql`select make_history_partition((moment() + ${month}::int * interval '1 month')::date)`);

const step = <Result>(database: Database, work: (tx: Db) => Promise<Result>): Promise<Result> =>
  database.transaction(async (tx) => {
    await rows(tx, sql`select pg_advisory_xact_lock(7305512011)`);
    await rows(tx, sql`set local lock_timeout = '1s'`);
    return work(tx);
  });
