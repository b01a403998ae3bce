import {
  type Db,
  type EmitEvent,
  fragment,
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

/**
 * How far ahead partitions are created: as far as the longest retention in use requires, plus two months. At least as far as the longest
 * retention of a plan requires, which is a year; at most three years. A look-up of a finished job takes 1 ms with 15 partitions, 3 ms with
 * 39 and 11 ms with 123. Months.
 */
const MIN_MONTHS_AHEAD = 14;
const MAX_MONTHS_AHEAD = 38;
const SPARE_MONTHS = 2;

/** The partitioned tables, whose rows expire. */
const EXPIRING = ["job_history", "audit_event"] as const;
type Expiring = (typeof EXPIRING)[number];

/** The rows of a default partition, with about the bytes that it takes to move each. */
const LATER = {
  job_history: fragment`(
    select expires_at, pg_column_size(payload) + coalesce(pg_column_size(result), 0) + pg_column_size(attempts_log) as bytes from job_history_later)`,
  audit_event: fragment`(
    select expires_at, coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(output), 0) as bytes from audit_event_later)`,
} as const satisfies Record<Expiring, unknown>;
/** The maximum number of rows that are moved while all reads and writes of the table wait: this takes less than a second. */
const MAX_MOVED_ROWS = 10_000;
const MAX_MOVED_BYTES = 32 * 1024 * 1024;
/** The maximum size of a default partition, which PostgreSQL reads while it adds another partition: this takes a second or two. Bytes. */
const MAX_READ_BYTES = 1024 * 1024 * 1024;

/** The maximum number of months of one table that may take too long in a pass. */
const MAX_TIMEOUTS = 2;

/**
 * The wait until the next pass: after a pass without failures, soon enough for a retention that was made longer; and after a step that
 * failed because of a lock. Milliseconds.
 */
const [SOON_MS, LATER_MS] = [60_000, 300_000];

/** Months whose partitions took too long to create, by table and month. The longest ago first. */
type SlowMonths = Set<string>;

const nameOf = (table: Expiring, day: string): string => `${table} ${day.slice(0, "2026-11".length)}`;

/** The months in their order, then those that are slow. */
function slowLast(slow: SlowMonths, table: Expiring, months: readonly string[]): string[] {
  const places = new Map([...slow].map((name, place) => [name, place]));
  const placeOf = (month: string) => places.get(nameOf(table, month)) ?? -1;
  return months.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/**
 * Creates the partitions of the coming months, and drops those in which all rows have expired. One query finds out whether there is
 * anything to do; usually there is not. An advisory lock lets one node work at a time: the others leave the work to that node. Each step is
 * a transaction of its own with a short lock timeout, so that settles do not queue behind it. A step that fails is reported
 * (`partition_failed`), and does not keep the others from their turn. Rows whose month has no partition stay in the default partition, and
 * are deleted there (`clearExpiredRows`).
 *
 * @param slow months that took too long in earlier passes. Each pass begins with the others, and updates the set
 * @returns the wait until the next pass, in milliseconds; undefined: the usual wait. That is also the wait after a step that took too long,
 * was skipped or was refused by PostgreSQL: it would soon fail again, and each try may block the table.
 */
export async function maintainPartitions(db: Transactional, emit: EmitEvent, slow: SlowMonths = new Set()): Promise<number | undefined> {
  let waitMs: number | undefined = SOON_MS;
  let timedOut = false;
  const attempt = async <Result>(table: Expiring, work: (tx: Db) => Promise<Result>): Promise<Result | null> => {
    try {
      return await step(db, work);
    } catch (error) {
      if (!isForLock(emit, table, error)) waitMs = undefined;
      waitMs &&= LATER_MS;
      timedOut = isTimeout(error);
      return null;
    }
  };
  for (const { table, missing, past } of await findWork(db)) {
    const skipped: string[] = [];
    let timeouts = 0;
    for (const month of slowLast(slow, table, missing)) {
      // The table may be slow, and not a single month: each try blocks it.
      if (timeouts === MAX_TIMEOUTS) break;
      timedOut = false;
      const isCreated = await attempt(table, (tx) => create(tx, table, month));
      slow.delete(nameOf(table, month));
      if (timedOut) {
        timeouts += 1;
        slow.add(nameOf(table, month));
      }
      if (isCreated === false) skipped.push(month.slice(0, "2026-11".length));
    }
    if (skipped.length > 0) {
      emit("partition_skipped", { table, months: skipped });
      waitMs = undefined;
    }
    const dropped = past ? await attempt(table, (tx) => drop(tx, table)) : null;
    if (dropped && dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
  }
  return waitMs;
}

/**
 * Deletes a portion of the expired rows of a default partition. It has some when no node ran for months, or when months have no partition.
 *
 * @returns the wait until the next pass, in milliseconds; undefined: the usual wait
 */
export async function clearExpiredRows(db: Transactional, emit: EmitEvent, table: Expiring): Promise<number | undefined> {
  try {
    return (await step(db, (tx) => clear(tx, table))) ? 0 : undefined;
  } catch (error) {
    return isForLock(emit, table, error) ? LATER_MS : undefined;
  }
}

/** Reports why a step failed, and returns whether it did because of a lock. */
function isForLock(emit: EmitEvent, table: Expiring, error: unknown): boolean {
  // If the database is unavailable, each step would wait for it.
  if (isAway(error) && !isTimeout(error)) throw error;
  emit("partition_failed", { table, error });
  return isRolledBack(error) || isLockTimeout(error);
}

interface PartitionWork {
  readonly table: Expiring;
  /** A day of each month without a partition. */
  readonly missing: string[];
  /** Whether the month of a partition has ended. */
  readonly past: boolean;
}

const findWork = (db: Db): Promise<PartitionWork[]> =>
  rows(
    db,
    sql`
      with furthest as (
        select date_trunc('month', moment()) as month, date_trunc('month', moment() + max(retention_days) * interval '1 day') as last
        from workspace where deleted_at is null
      ), ahead as (
        select least(${MAX_MONTHS_AHEAD}::int, greatest(${MIN_MONTHS_AHEAD}::int,
          12 * (extract(year from last) - extract(year from month)) + extract(month from last) - extract(month from month) + ${SPARE_MONTHS}::int
        ))::int as months
        from furthest
      )
      select parent as table,
        array(
          select day::text
          from ahead, generate_series(0, months) month, lateral (select (moment() + month * interval '1 month')::date as day) later
          where to_regclass(partition_name(parent, day)) is null
          order by month
        ) as missing, exists (select from past_partitions(parent, moment()::date)) as past
      from unnest(${textArray(EXPIRING)}::text[]) parent`,
  );

/**
 * Creates the partition of a month. Rows of the month in the default partition move, while all reads and writes of the table wait: for at
 * most half of the time that a statement may take, so that they do not fail. Returns false, and does nothing, if that would take longer.
 */
async function create(tx: Db, table: Expiring, month: string): Promise<boolean> {
  await rows(
    tx,
    sql`select set_config('statement_timeout', (setting::int / 2)::text, true) from pg_settings where name = 'statement_timeout'`,
  );
  if (!(await isMovable(tx, table, month))) return false;
  await rows(tx, sql`select make_partition(${table}, ${month}::date)`);
  return true;
}

/** Whether the rows of a month that are in the default partition can be moved soon. Uses indexes job_history_later_expiry, audit_event_later_expiry. */
const isMovable = async (db: Db, table: Expiring, month: string): Promise<boolean> =>
  (
    await row<{ movable: boolean }>(
      db,
      sql`
        select pg_relation_size((${table}::text || '_later')::regclass) <= ${MAX_READ_BYTES}::int
          and count(*) <= ${MAX_MOVED_ROWS}::int and coalesce(sum(bytes), 0) <= ${MAX_MOVED_BYTES}::int as movable
        from (
          select bytes from ${LATER[table]} later
          where expires_at >= date_trunc('month', ${month}::date) and expires_at < date_trunc('month', ${month}::date) + interval '1 month'
          limit ${MAX_MOVED_ROWS + 1}::int
        ) portion`,
    )
  )?.movable ?? false;

/** Deletes a portion of the expired rows. Returns whether there are more. */
async function clear(tx: Db, table: Expiring): Promise<boolean> {
  await rows(tx, sql`select clear_expired(${table})`);
  return (await row<{ expired: boolean }>(tx, sql`select has_expired(${table}) as expired`))?.expired ?? false;
}

const drop = (tx: Db, table: Expiring): Promise<{ name: string }[]> =>
  rows(tx, sql`select drop_partitions(${table}, moment()::date) as name`);

/** Runs a step. Returns null, and does nothing, while another node is working. */
const step = <Result>(db: Transactional, work: (tx: Db) => Promise<Result>): Promise<Result | null> =>
  db.transaction(async (tx) => {
    const [lock] = await rows<{ mine: boolean }>(tx, sql`select pg_try_advisory_xact_lock(7305512011) as mine`);
    if (!lock?.mine) return null;
    await rows(tx, sql`set local lock_timeout = '1s'`);
    return work(tx);
  });
