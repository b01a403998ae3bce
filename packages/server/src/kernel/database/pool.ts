import pg from "pg";
import { ProblemError, unavailable } from "../problem.ts";
import { Client } from "./client.ts";
import { type GroupOptions, Pool } from "./pool-group.ts";
import { execute, type QueryResult } from "./query.ts";
import { createReadSocket } from "./read-socket.ts";
import { isWriteRefused, WRITES_REFUSED } from "./refused-writes.ts";
import { type Db, type Statement, sql } from "./sql.ts";

/** How to reach the database: a URL, or a socket directory and the name of the database. */
export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string };

/** A time as the API shows it: RFC 3339 in UTC with milliseconds. */
export type Timestamp = string;

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** Converts PostgreSQL's "2026-11-21 09:30:00.1234+00" to RFC 3339. Sessions run in UTC. */
export function toRfc3339(text: string): Timestamp {
  const fraction = text.charAt(19) === "." ? text.slice(20, text.indexOf("+", 20)) : "";
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
}

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === INT8) return Number;
    if (oid === TIMESTAMPTZ) return toRfc3339;
    return pg.types.getTypeParser(oid, format as "text");
  }) as pg.CustomTypesConfig["getTypeParser"],
};

/** Session settings of every connection. */
const SESSION = "-c timezone=UTC -c jit=off";

/**
 * Every statement uses an index. Statistics from a time when the hot table was empty could make the planner scan it when it has a
 * million rows, so these settings rule out such plans.
 */
const BY_INDEX = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan";

/** Rows are read in the order of an index, and not sorted, wherever there is one. */
const IN_ORDER = "-c enable_sort=off";

/**
 * How long an unused connection stays open. A new connection reads PostgreSQL's catalogs and plans each statement again. When a burst comes
 * after a pause, requests would wait for that, for hundreds of milliseconds if the processors are busy.
 */
const IDLE_MS = 600_000;
export const KEEP_ALIVE_MS = 30_000;

export interface PoolOptions extends GroupOptions {
  readonly connection: Connection;
  readonly size: number;
  /** How long a statement may take. Milliseconds. */
  readonly statementTimeoutMs: number;
  /** Whether statements read in the order of an index, however cheap it looks to read and sort rows. */
  readonly inOrder?: boolean;
}

/** Creates a pool. Its statements look for tables in `schemas`, in this order. */
export function createPool(
  { connection, size, statementTimeoutMs, inOrder = false, ...ofGroup }: PoolOptions,
  schemas: readonly string[],
): pg.Pool {
  // The time in which a large value arrives in a transaction also counts as idle. A longer limit would let a hanging node hold its locks
  // longer.
  const timeouts = `-c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=${Math.ceil(statementTimeoutMs / 2)}`;
  const settings = {
    ...clientConfig(connection),
    Client,
    stream: createReadSocket,
    options: `-c search_path=${schemas.join(",")} ${SESSION} ${BY_INDEX} ${inOrder ? IN_ORDER : ""} ${timeouts}`,
    max: size,
    connectionTimeoutMillis: 5_000,
    // For a server that does not respond at all: longer than the server's own timeout.
    query_timeout: statementTimeoutMs + 5_000,
    idleTimeoutMillis: IDLE_MS,
    // Firewalls forget connections that are idle for some minutes.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
  const pool = new Pool(settings, ofGroup);
  // The pool removes idle connections that break. If the database is gone, the next statement fails.
  pool.on("error", () => {});
  // A connection may also break when it has just been taken and has no statement yet. Without a listener, that would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Opens as many connections as the pool may have. If one fails, the statement that needs it tries again. */
export async function openAll(pool: pg.Pool): Promise<void> {
  await Promise.allSettled(Array.from({ length: pool.options.max }, async () => (await pool.connect()).release()));
}

/** Runs `work` on one connection of the pool. Closes the connection if it broke, or has a prepared statement that fails from now on. */
export async function onConnection<Result>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect().catch(rethrow);
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(error instanceof ProblemError && error.code === "UNAVAILABLE");
    throw error;
  }
}

/**
 * Executes a statement on a connection, or on the next one of a pool that is free.
 *
 * @param before what is executed before it in the same round trip (`execute`)
 */
export const executeOn = (on: pg.Pool | pg.PoolClient, statement: Statement, before?: readonly Statement[]): Promise<QueryResult> =>
  execute(on, statement, types, before).catch(rethrow);

const BEGIN = sql`begin`;

/**
 * Runs `work` in one transaction, which is rolled back when `work` throws, or one of its statements has failed. It begins with the first statement, in
 * the same round trip.
 *
 * @param before called with the first statement: what is executed before it
 */
export async function inTransaction<Result>(
  client: pg.PoolClient,
  work: (tx: Db) => Promise<Result>,
  before: () => readonly Statement[] = () => [],
): Promise<Result> {
  let hasBegun = false;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  const query = async (statement: Statement): Promise<QueryResult> => {
    // The connection may already be in use by somebody else.
    if (isOver) throw new TypeError("The transaction has ended.");
    if (failure) throw failure.error;
    const first = hasBegun ? [] : [BEGIN, ...before()];
    hasBegun = true;
    try {
      return await executeOn(client, statement, first);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  try {
    const result = await work({ query });
    // PostgreSQL would roll the transaction back without saying so.
    if (failure) throw failure.error;
    isOver = true;
    if (hasBegun) await client.query("commit").catch(rethrow);
    return result;
  } catch (error) {
    isOver = true;
    if (hasBegun) await client.query("rollback").catch(rethrow);
    throw error;
  }
}

/** Runs single statements, or several in one transaction. */
export interface Transactional extends Db {
  /** Runs `work` in one transaction, which is rolled back when `work` throws. */
  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result>;
}

/** A pool of connections to the database. A statement that cannot reach the database rejects with `UNAVAILABLE`; the pool recovers. */
export class Database implements Transactional {
  readonly #pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.#pool = createPool(options, ["tidemill"]);
  }

  query(statement: Statement): Promise<QueryResult> {
    return executeOn(this.#pool, statement);
  }

  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result> {
    return onConnection(this.#pool, (client) => inTransaction(client, work));
  }

  /** Opens all connections. No statement has to wait for a new one until they have been idle for 10 minutes. */
  open(): Promise<void> {
    return openAll(this.#pool);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

export const clientConfig = (connection: Connection): pg.ClientConfig => ({ ...connection, types, application_name: "tidemill" });

/** SQLSTATEs of a server that shuts down, is gone, full or too slow, became a replica in a failover, or ended a transaction that was idle for too long. */
const AWAY = /^(08|53|57|25006|25P03)/;
/** SQLSTATE classes of data that the database always refuses: malformed values, violated constraints. */
const REFUSED = /^(22|23)/;
/** SQLSTATEs of a transaction that was rolled back because of another one: serialization_failure, deadlock_detected. */
const ROLLED_BACK = /^40(001|P01)$/;
const QUERY_CANCELED = "57014";
const LOCK_NOT_AVAILABLE = "55P03";
const UNIQUE_VIOLATION = "23505";
/** SQLSTATEs undefined_table and undefined_column. */
const UNDEFINED: readonly string[] = ["42P01", "42703"];

/**
 * Whether a prepared statement cannot be executed any more: a migration has changed the columns that it returns (feature_not_supported by
 * this function of PostgreSQL), or the connection has lost it (invalid_sql_statement_name). Another connection prepares it again.
 */
const isStale = ({ code, routine }: pg.DatabaseError): boolean =>
  code === "26000" || (code === "0A000" && routine === "RevalidateCachedQuery");

/** Whether the same statement would fail every time: the database refuses its values, or the code has a fault. */
export const isRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError ? REFUSED.test(error.code ?? "") : !(error instanceof ProblemError);

/** Whether a statement would have stored a value twice that must be unique. */
export const isDuplicate = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION;

/** Whether PostgreSQL rolled a transaction back because of another one, as in a deadlock. It may succeed when it is tried again. */
export const isRolledBack = (error: unknown): boolean => error instanceof pg.DatabaseError && ROLLED_BACK.test(error.code ?? "");

/** Whether a statement was cancelled because it took too long. */
export const isTimeout = (error: unknown): boolean => (error as { cause?: { code?: string } }).cause?.code === QUERY_CANCELED;

/** Whether a statement names a table or a column that the database does not have, such as one of an older version. */
export const isUndefined = (error: unknown): boolean => UNDEFINED.includes((error as { code?: string }).code ?? "");

/** Whether a statement did not get a lock in time (lock_timeout, nowait). */
export const isLockTimeout = (error: unknown): boolean => (error as { code?: string }).code === LOCK_NOT_AVAILABLE;

/**
 * Throws pg's error, as UNAVAILABLE if the database is unavailable, or if the statement would succeed on another connection. An error that
 * the server did not send means a broken or missing connection.
 */
export function rethrow(error: unknown): never {
  // Its stack leads to the socket, not to the code that sent the statement.
  if (error instanceof Error) Error.captureStackTrace(error);
  const away = error instanceof pg.DatabaseError ? AWAY.test(error.code ?? "") || isStale(error) : isConnectionFault(error);
  const { code } = error as { code?: string };
  throw away ? Object.assign(unavailable(isWriteRefused(code) ? WRITES_REFUSED : "The database is unavailable."), { cause: error }) : error;
}

/**
 * Whether an error means a broken connection. For an ended connection or a timeout, pg throws a plain Error without a code. A fault in the
 * code would have another class, such as TypeError.
 */
function isConnectionFault(error: unknown): boolean {
  return error instanceof Error && (error.name === "Error" || error instanceof AggregateError);
}
