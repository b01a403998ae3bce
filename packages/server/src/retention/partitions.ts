import {
  type Db,
  type EmitEvent,
  isAway,
  isLockTimeout,
  isRolledBack,
  isTimeout,
  row,
  rows,
  sql,
  type Transactional,
  textArray,
} from "#kernel";

/** How far ahead partitions are created: the longest retention of a plan, which is a year, and two months more. Months. */
const MONTHS_AHEAD = 14;

/** The partitioned tables, whose rows expire. */
const EXPIRING = ["job_history", "audit_event"] as const;
type Expiring = (typeof EXPIRING)[number];

/** Portions of expired rows that are deleted in one pass. */
const MAX_PORTIONS = 10;
/** When a pass comes that deletes more of them, and one after a step that failed because of a lock. Milliseconds. */
const [SOON_MS, LATER_MS] = [1_000, 300_000];

/**
 * Creates the partitions of the coming months, and drops those in which all rows have expired. One query finds out whether there is
 * anything to do; usually there is not. An advisory lock lets one node work at a time: the others leave it to that node. Each step is a
 * transaction of its own with a short lock timeout, so that settles do not queue behind it. A step that fails is reported
 * (`partition_failed`), and does not keep the others from their turn. Rows whose month has no partition stay in the default partition, and are
 * deleted there.
 *
 * @returns the wait until the next pass, in milliseconds; undefined: the usual one. A step that took too long, or that PostgreSQL refuses, would
 * fail again soon, and may hold up the table each time.
 */
export async function maintainPartitions(db: Transactional, emit: EmitEvent): Promise<number | undefined> {
  let [isLocked, hasMore] = [false, false];
  const attempt = async <Result>(table: Expiring, work: (tx: Db) => Promise<Result>): Promise<Result | null> => {
    try {
      return await step(db, work);
    } catch (error) {
      // Without the database, each step would wait for it.
      if (isAway(error) && !isTimeout(error)) throw error;
      isLocked ||= isRolledBack(error) || isLockTimeout(error);
      emit("partition_failed", { table, error });
      return null;
    }
  };
  for (const { table, missing, expired, past } of await findWork(db)) {
    for (const month of missing) await attempt(table, (tx) => create(tx, table, month));
    // When no node ran for months, or their partitions could not be created, their rows are in the default partition.
    let isLeft = expired;
    for (let portion = 0; isLeft && portion < MAX_PORTIONS; portion += 1)
      isLeft = (await attempt(table, (tx) => clearExpired(tx, table))) ?? false;
    hasMore ||= isLeft;
    const dropped = past ? await attempt(table, (tx) => drop(tx, table)) : null;
    if (dropped && dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
  }
  if (hasMore) return SOON_MS;
  return isLocked ? LATER_MS : undefined;
}

interface PartitionWork {
  readonly table: Expiring;
  /** A day of each month without a partition. */
  readonly missing: string[];
  /** Whether the default partition holds expired rows. */
  readonly expired: boolean;
  /** Whether the month of a partition has ended. */
  readonly past: boolean;
}

const findWork = (db: Db): Promise<PartitionWork[]> =>
  rows(
    db,
    sql`
      select parent as table,
        array(
          select day::text
          from generate_series(0, ${MONTHS_AHEAD}::int) month, lateral (select (moment() + month * interval '1 month')::date as day) later
          where to_regclass(partition_name(parent, day)) is null
          order by month
        ) as missing, has_expired(parent) as expired, exists (select from past_partitions(parent, moment()::date)) as past
      from unnest(${textArray(EXPIRING)}::text[]) parent`,
  );

/**
 * Creates the partition of a month. Rows of it in the default partition move, while all that reads or writes the table waits: for half of the time
 * that a statement may take, so that what waits does not fail.
 */
async function create(tx: Db, table: Expiring, month: string): Promise<void> {
  await rows(
    tx,
    sql`select set_config('statement_timeout', (setting::int / 2)::text, true) from pg_settings where name = 'statement_timeout'`,
  );
  await rows(tx, sql`select make_partition(${table}, ${month}::date)`);
}

/** Deletes a portion of the expired rows. Returns whether there are more. */
async function clearExpired(tx: Db, table: Expiring): Promise<boolean> {
  await rows(tx, sql`select clear_expired(${table})`);
  return (await row<{ expired: boolean }>(tx, sql`select has_expired(${table}) as expired`))?.expired ?? false;
}

const drop = (tx: Db, table: Expiring): Promise<{ name: string }[]> =>
  rows(tx, sql`select drop_partitions(${table}, moment()::date) as name`);

/** Returns null, and does nothing, while another node is at it. */
const step = <Result>(db: Transactional, work: (tx: Db) => Promise<Result>): Promise<Result | null> =>
  db.transaction(async (tx) => {
    const [lock] = await rows<{ mine: boolean }>(tx, sql`select pg_try_advisory_xact_lock(7305512011) as mine`);
    if (!lock?.mine) return null;
    await rows(tx, sql`set local lock_timeout = '1s'`);
    return work(tx);
  });
