import { type Database, rows, sql } from "#kernel";

export const ZONES = [
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "America/Sao_Paulo",
  "Europe/Dublin",
  "Africa/Casablanca",
  "America/New_York",
  "Asia/Kathmandu",
  "UTC",
];

/** Includes the day that Apia skipped, and the last summers with daylight saving in São Paulo. */
export const TEN_YEARS: Span = { from: "2010-01-01T00:00:00Z", until: "2020-01-01T00:00:00Z", step: "30 minutes" };

interface Span {
  readonly from: string;
  readonly until: string;
  /** How exactly the moment of a change is found. */
  readonly step: string;
}

/** A moment at which the clocks of a zone were set to another offset from UTC. All in milliseconds. */
export interface OffsetChange {
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/**
 * A zone's changes of offset as PostgreSQL knows them, from its own copy of the time zone database; after the second moment of the
 * span, at which nothing need have changed.
 */
export const readChanges = (engine: Database, zone: string, { from, until, step }: Span = TEN_YEARS): Promise<OffsetChange[]> =>
  rows<OffsetChange>(
    engine,
    sql`with shown as (
        select at, 1000 * extract(epoch from (at at time zone ${zone}) - (at at time zone 'UTC'))::float8 as ms
        from generate_series(${from}::timestamptz, ${until}::timestamptz, ${step}::interval) at
      ), compared as (select at, ms, lag(ms) over (order by at) as before_ms, row_number() over (order by at) as place from shown)
      select 1000 * extract(epoch from at)::float8 as "atMs", before_ms as "beforeMs", ms as "afterMs"
      from compared where ms <> before_ms or place = 2 order by at`,
  );
