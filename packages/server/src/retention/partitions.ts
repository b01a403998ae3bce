import { type Db, type EmitEvent, rows, sql, type Transactional, textArray } from "#kernel";

/** How far ahead partitions are created: the longest retention of a plan, which is a year, and two months more. Months. */
const MONTHS_AHEAD = 14;

/** The partitioned tables, whose rows expire. */
const EXPIRING = ["job_history", "audit_event"] as const;
type Expiring = (typeof EXPIRING)[number];

/**
 * Creates the partitions of the coming months, and drops those in which all rows have expired. Mostly there is nothing to do, which one
 * look tells. An advisory lock lets one node work at a time. Each step is a transaction of its own with a short lock
 * timeout, so that settles do not queue behind it. A step that times out is tried again by the next pass.
 */
export async function maintainPartitions(db: Transactional, emit: EmitEvent): Promise<void> {
  for (const { table, missing, expired, past } of await look(db)) {
    for (const month of missing) await step(db, (tx) => make(tx, table, month));
    // When no node ran for months, their partitions were never created, and their rows are in the default partition.
    if (expired) await step(db, (tx) => rows(tx, sql`select clear_expired(${table})`));
    const dropped = past ? await step(db, (tx) => drop(tx, table)) : [];
    if (dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
  }
}

interface PartitionState {
  readonly table: Expiring;
  /** Months without a partition, counted from the current one. */
  readonly missing: number[];
  /** Whether the default partition holds expired rows. */
  readonly expired: boolean;
  /** Whether the month of a partition has ended. */
  readonly past: boolean;
}

const look = (db: Db): Promise<PartitionState[]> =>
  rows(
    db,
    sql`
      select parent as table,
        array(
          select month from generate_series(0, ${MONTHS_AHEAD}::int) month
          where to_regclass(partition_name(parent, (moment() + month * interval '1 month')::date)) is null
          order by month
        ) as missing, has_expired(parent) as expired, exists (select from past_partitions(parent, moment()::date)) as past
      from unnest(${textArray(EXPIRING)}::text[]) parent`,
  );

const make = (tx: Db, table: Expiring, month: number): Promise<unknown[]> =>
  rows(tx, sql`select make_partition(${table}, (moment() + ${month}::int * interval '1 month')::date)`);

const drop = (tx: Db, table: Expiring): Promise<{ name: string }[]> =>
  rows(tx, sql`select drop_partitions(${table}, moment()::date) as name`);

const step = <Result>(db: Transactional, work: (tx: Db) => Promise<Result>): Promise<Result> =>
  db.transaction(async (tx) => {
    await rows(tx, sql`select pg_advisory_xact_lock(7305512011)`);
    await rows(tx, sql`set local lock_timeout = '1s'`);
    return work(tx);
  });
