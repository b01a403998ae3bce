import { type Database, type Db, type EmitEvent, rows, sql } from "#kernel";

/** How far ahead partitions are created: the longest retention of a plan, which is a year, and two months more. Months. */
const MONTHS_AHEAD = 14;

/** The partitioned tables, whose rows expire. */
const EXPIRING = ["job_history", "audit_event"] as const;
type Expiring = (typeof EXPIRING)[number];

/**
 * Creates the partitions of the coming months, and drops those in which all rows have expired. An advisory lock lets one node run at a
 * time; the next one finds nothing to do. Each step is a transaction of its own with a short lock timeout, so that settles do not queue
 * behind it. A step that times out is tried again by the next pass.
 */
export async function maintainPartitions(database: Database, emit: EmitEvent): Promise<void> {
  for (const table of EXPIRING) {
    for (let month = 0; month <= MONTHS_AHEAD; month += 1) await step(database, (tx) => make(tx, table, month));
    // When no node ran for months, their partitions were never created, and their rows are in the default partition.
    await step(database, (tx) => rows(tx, sql`select clear_expired(${table})`));
    const dropped = await step(database, (tx) => drop(tx, table));
    if (dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
  }
}

const make = (tx: Db, table: Expiring, month: number): Promise<unknown[]> =>
  rows(tx, sql`select make_partition(${table}, (moment() + ${month}::int * interval '1 month')::date)`);

const drop = (tx: Db, table: Expiring): Promise<{ name: string }[]> =>
  rows(tx, sql`select drop_partitions(${table}, moment()::date) as name`);

const step = <Result>(database: Database, work: (tx: Db) => Promise<Result>): Promise<Result> =>
  database.transaction(async (tx) => {
    await rows(tx, sql`select pg_advisory_xact_lock(7305512011)`);
    await rows(tx, sql`set local lock_timeout = '1s'`);
    return work(tx);
  });
