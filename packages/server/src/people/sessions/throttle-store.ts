import { type Db, row, rows, sql, textArray } from "#kernel";

/** Counts a try. Returns how many there were since the window began, and for how many seconds it continues. Uses the primary key. */
export const countTry = async (db: Db, key: string, windowSeconds: number): Promise<{ tries: number; endsInSeconds: number }> =>
  (await row<{ tries: number; endsInSeconds: number }>(
    db,
    sql`
      insert into throttle as t (key, tries, ends_at) values (${key}, 1, moment() + ${windowSeconds} * interval '1 second')
      on conflict (key) do update set
        tries = case when t.ends_at > moment() then t.tries + 1 else 1 end,
        ends_at = case when t.ends_at > moment() then t.ends_at else excluded.ends_at end
      returning tries, ceil(extract(epoch from ends_at - moment()))::int as "endsInSeconds"`,
  )) ?? { tries: 1, endsInSeconds: windowSeconds };

/** Takes one try back for each key. Uses the primary key. */
export const uncountTries = (db: Db, keys: readonly string[]): Promise<unknown> =>
  rows(db, sql`update throttle set tries = greatest(tries - 1, 0) where key = any(${textArray(keys)}::text[])`);

/** Uses index throttle_end. */
export const sweepThrottles = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`delete from throttle where ctid = any(array(select ctid from throttle where ends_at <= moment() order by ends_at limit 10000))`,
  );
