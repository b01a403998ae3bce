import { type Db, row, sql } from "./sql.ts";

/** What an operator should know about a PostgreSQL before a node runs on it. */
export interface DatabaseFacts {
  /** The version as text (`server_version`) and as a number: 170002 is 17.2. */
  readonly version: string;
  readonly version_number: number;
  /** Whether fsync is on. Without it, a crash of the machine may lose or corrupt what was committed. */
  readonly fsync: boolean;
  readonly full_page_writes: boolean;
  readonly encoding: string;
  /** Whether it is a standby, which refuses all writes. */
  readonly is_standby: boolean;
  /** Whether sessions are read-only: on a standby always, elsewhere by the setting `default_transaction_read_only`. */
  readonly is_read_only: boolean;
  /** Whether this connection uses TLS. */
  readonly is_encrypted: boolean;
  /** Whether the user may create the schema, with its tables. */
  readonly may_create: boolean;
  /** Milliseconds since 1970 by the database's clock. */
  readonly now_ms: number;
}

/** Reads settings, clock and privileges. It changes nothing. */
export async function inspectDatabase(db: Db): Promise<DatabaseFacts> {
  const facts = await row<DatabaseFacts>(
    db,
    sql`
      select
        current_setting('server_version') as version,
        current_setting('server_version_num')::int as version_number,
        current_setting('fsync')::boolean as fsync,
        current_setting('full_page_writes')::boolean as full_page_writes,
        current_setting('server_encoding') as encoding,
        pg_is_in_recovery() as is_standby,
        current_setting('transaction_read_only')::boolean as is_read_only,
        exists (select from pg_stat_ssl where pid = pg_backend_pid() and ssl) as is_encrypted,
        has_database_privilege(current_database(), 'create') as may_create,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
  );
  if (!facts) throw new Error("The query of settings returned no row.");
  return facts;
}
