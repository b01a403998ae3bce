import { type Db, row, sql } from "./sql.ts";

/** The minimum number of connections with which a node works. */
const MIN_CONNECTIONS = 7;

/** A limit of connections: of the role, of the database, or of the server. */
export interface ConnectionLimit {
  /** The beginning of a sentence: `The role "jobs" may have 8 connections (its CONNECTION LIMIT)`. */
  readonly what: string;
  readonly max: number;
  /** How many of these are in use, without the session that asks. */
  readonly used: number;
}

interface Facts {
  readonly role: string;
  readonly database: string;
  readonly role_max: number | null;
  readonly role_used: number;
  readonly database_max: number | null;
  readonly database_used: number;
  readonly server_max: number;
  readonly server_reserved: number;
  readonly server_used: number;
}

/** Reads how many connections PostgreSQL allows this user in this database, and how many are in use. It changes nothing. */
export async function readConnectionLimits(db: Db): Promise<ConnectionLimit[]> {
  const facts = await row<Facts>(
    db,
    sql`
      select session_user::text as role, current_database()::text as database,
        case when not r.rolsuper and r.rolconnlimit >= 0 then r.rolconnlimit end as role_max,
        (select count(*) - 1 from pg_stat_activity where usesysid = r.oid) as role_used,
        case when not r.rolsuper and d.datconnlimit >= 0 then d.datconnlimit end as database_max,
        (select numbackends - 1 from pg_stat_database where datid = d.oid) as database_used,
        current_setting('max_connections')::int as server_max,
        case when r.rolsuper then 0 else current_setting('superuser_reserved_connections')::int
          + case when exists (
              select from pg_roles p where p.rolname = 'pg_use_reserved_connections' and pg_has_role(r.oid, p.oid, 'usage')) then 0
            else coalesce(current_setting('reserved_connections', true)::int, 0) end end as server_reserved,
        (select sum(numbackends)::int - 1 from pg_stat_database) as server_used
      from pg_roles r, pg_database d where r.rolname = session_user and d.datname = current_database()`,
  );
  if (!facts) throw new Error("The query of limits returned no row.");
  return limitsOf(facts);
}

function limitsOf(facts: Facts): ConnectionLimit[] {
  const { role, database, server_max, server_reserved } = facts;
  const limits: ConnectionLimit[] = [];
  const add = (who: string, max: number, reason: string, used: number) =>
    limits.push({ what: `${who} may have ${max} connections (${reason})`, max, used: Math.max(0, used) });
  if (facts.role_max !== null) add(`The role "${role}"`, facts.role_max, "its CONNECTION LIMIT", facts.role_used);
  if (facts.database_max !== null) add(`The database "${database}"`, facts.database_max, "its CONNECTION LIMIT", facts.database_used);
  const reserved = server_reserved === 0 ? "" : ` less ${server_reserved} reserved ones`;
  add("This user", server_max - server_reserved, `max_connections is ${server_max}${reserved}`, facts.server_used);
  return limits;
}

/** How many connections may be opened beside those in use, and by which limit. */
export interface ConnectionRoom {
  readonly status: "ok" | "scarce" | "too few";
  readonly free: number;
  /** One or more sentences: the limit, the use, and what to do. */
  readonly message: string;
}

/**
 * Compares the limits with what a node wants. `too few`: it cannot work, or its limits are below what it is configured for. `scarce`:
 * others use so many that this node would have to make do with fewer.
 *
 * @param wanted `TIDEMILL_DATABASE_CONNECTIONS`
 */
export function judgeRoom(limits: readonly ConnectionLimit[], wanted: number): ConnectionRoom {
  const [lowest] = limits.toSorted((a, b) => a.max - b.max);
  const [tightest] = limits.toSorted((a, b) => a.max - a.used - (b.max - b.used));
  if (!lowest || !tightest) throw new Error("There is no limit.");
  const free = Math.max(0, tightest.max - tightest.used);
  if (lowest.max < wanted) {
    const instead =
      lowest.max > MIN_CONNECTIONS
        ? ` Raise the limit, or set TIDEMILL_DATABASE_CONNECTIONS to ${lowest.max - 1} or fewer.`
        : " Raise the limit.";
    return {
      status: "too few",
      free,
      message: `${lowest.what}, but a node opens up to ${wanted} (TIDEMILL_DATABASE_CONNECTIONS).${instead}`,
    };
  }
  const use = `${tightest.what}, and ${tightest.used} are in use`;
  if (free < MIN_CONNECTIONS)
    return { status: "too few", free, message: `${use}. A node needs at least ${MIN_CONNECTIONS}. Raise the limit, or close others.` };
  if (free < wanted)
    return {
      status: "scarce",
      free,
      message: `${use}: a node that starts now gets ${free} of the ${wanted} that it may open (TIDEMILL_DATABASE_CONNECTIONS).`,
    };
  return { status: "ok", free, message: `${use}; each node opens at most ${wanted}.` };
}
