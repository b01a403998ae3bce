import pg from "pg";
import { ProblemError, unavailable } from "../problem.ts";
import type { Db, Statement } from "./sql.ts";

/** Where the database is: a URL, or a socket directory with a database's name. */
export type Connection = { connectionString: string } | { host: string; port: number; user: string; database: string };

/** A moment as the API shows it: RFC 3339 in UTC with milliseconds. */
export type Timestamp = string;

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** PostgreSQL's "2026-11-21 09:30:00.1234+00" as RFC 3339; sessions run in UTC. */
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
 * Every statement leans on an index. Statistics taken while the hot table was empty must not talk the planner into reading it
 * whole when it has a million rows, so connections leave it no such choice.
 */
const BY_INDEX = "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan";

export interface PoolOptions {
  readonly connection: Connection;
  readonly size: number;
  /** A statement is ended after this. Milliseconds. */
  readonly statementTimeoutMs: number;
}

/** A pool whose statements find their tables in `schemas`, the first that has them. */
export function createPool({ connection, size, statementTimeoutMs }: PoolOptions, schemas: readonly string[]): pg.Pool {
  const timeouts = `-c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=${Math.ceil(statementTimeoutMs / 2)}`;
  const pool = new pg.Pool({
    ...clientConfig(connection),
    options: `-c search_path=${schemas.join(",")} ${SESSION} ${BY_INDEX} ${timeouts}`,
    max: size,
    connectionTimeoutMillis: 5_000,
    // A server that has stopped answering altogether: later than its own timeout would have spoken.
    query_timeout: statementTimeoutMs + 5_000,
    idleTimeoutMillis: 60_000,
  });
  // An idle connection that breaks is taken out by the pool; who needs one next is told by the statement.
  pool.on("error", () => {});
  return pool;
}

/** Runs `work` on one connection of the pool; one that broke on the way is closed. */
export async function onConnection<Result>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect().catch(refuse);
  // Without a listener a connection that breaks between two statements would end the process.
  const broken = () => {};
  client.on("error", broken);
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(error instanceof ProblemError && error.code === "UNAVAILABLE");
    throw error;
  } finally {
    client.off("error", broken);
  }
}

/** Runs `work` in one transaction, undone when it throws. */
export async function inTransaction<Result>(client: pg.PoolClient, work: (tx: Db) => Promise<Result>): Promise<Result> {
  await client.query("begin").catch(refuse);
  try {
    const result = await work({ query: (statement) => client.query(statement).catch(refuse) });
    await client.query("commit").catch(refuse);
    return result;
  } catch (error) {
    await client.query("rollback").catch(refuse);
    throw error;
  }
}

/** A pool, or what stands for one: it runs statements one by one, or several in one transaction. */
export interface Transactional extends Db {
  /** Runs `work` in one transaction, undone when it throws. */
  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result>;
}

/** Connections to the database. A statement that cannot reach it rejects with `UNAVAILABLE`; the pool itself goes on. */
export class Database implements Transactional {
  readonly #pool: pg.Pool;

  constructor(options: PoolOptions) {
    this.#pool = createPool(options, ["tidemill"]);
  }

  async query(statement: Statement): Promise<{ rows: unknown[]; rowCount: number | null }> {
    return this.#pool.query(statement).catch(refuse);
  }

  transaction<Result>(work: (tx: Db) => Promise<Result>): Promise<Result> {
    return onConnection(this.#pool, (client) => inTransaction(client, work));
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

export const clientConfig = (connection: Connection): pg.ClientConfig => ({ ...connection, types, application_name: "tidemill" });

/** SQLSTATE classes of a server that is going, gone, full, too slow, or a replica since a failover. */
const AWAY = /^(08|53|57|25006)/;
/** Classes of data that will be refused however often they come: malformed values, broken constraints. */
const REFUSED = /^(22|23)/;
const QUERY_CANCELED = "57014";

/** Whether the same statement would fail every time: the database refuses its values, or it is a mistake of ours. */
export const isRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError ? REFUSED.test(error.code ?? "") : !(error instanceof ProblemError);

/** Whether a statement was given up because it took too long. */
export const isTimeout = (error: unknown): boolean => (error as { cause?: { code?: string } }).cause?.code === QUERY_CANCELED;

/**
 * What pg rejects with, as callers know it. What is not the server's own word about a statement is a broken or absent
 * connection.
 */
export function refuse(error: unknown): never {
  const away = error instanceof pg.DatabaseError ? AWAY.test(error.code ?? "") : isConnectionFault(error);
  throw away ? Object.assign(unavailable("The database is away."), { cause: error }) : error;
}

/** pg's own errors carry no code for a connection that ended or a time-out; a mistake of ours would be a TypeError, say. */
function isConnectionFault(error: unknown): boolean {
  return error instanceof Error && (error.name === "Error" || error instanceof AggregateError);
}
