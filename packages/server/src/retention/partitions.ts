import { type Database, type Db, type EmitEvent, rows, sql } from "#kernel";

/** How far ahead partitions stand ready: a year, the longest retention of a plan, and some. Months. */
const MONTHS_AHEAD = 14;

/**
 * Makes the history partitions of the coming months and drops those whose jobs have all expired. Nodes take turns; whoever
 * comes second finds nothing to do.
 */
export const keepPartitions = (database: Database, emit: EmitEvent): Promise<void> =>
  database.transaction(async (tx) => {
    await rows(tx, sql`select pg_advisory_xact_lock(7305512011)`);
    await rows(tx, sql`set local timezone = 'UTC'`);
    await makeAhead(tx);
    // Months that passed while nobody looked were never made: what expired in them stands in the default partition.
    await rows(tx, sql`delete from job_history_later where expires_at <= moment()`);
    const dropped = await rows<{ name: string }>(tx, sql`select drop_history_partitions(moment()::date) as name`);
    if (dropped.length > 0) emit("history_dropped", { partitions: dropped.map(({ name }) => name) });
  });

const makeAhead = (tx: Db): Promise<unknown[]> =>
  rows(
    tx,
    sql`select make_history_partition((moment() + month * interval '1 month')::date) from generate_series(0, ${MONTHS_AHEAD}::int) month`,
  );
