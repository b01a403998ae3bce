import type { Writable } from "node:stream";
import type pg from "pg";
import { textArray } from "./arrays.ts";
import type { LargeTexts } from "./large-texts.ts";
import type { Statement, Value } from "./sql.ts";

export interface QueryResult {
  readonly rows: unknown[];
}

/** pg's connection, as its own queries use it. */
interface Connection {
  readonly stream: Writable;
  /** The texts of its prepared statements by their names. pg adds them when PostgreSQL says that it has parsed them. */
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly Value[]; valueMapper: typeof toSend }): void;
  describe(message: { type: "P" }): void;
  execute(message: object): void;
  sendCopyFail(message: string): void;
  sync(): void;
}

interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

type Callback = (error: Error | null | undefined, result?: QueryResult) => void;
type GetParser = (oid: number, format: "text") => (text: string) => unknown;

/**
 * The columns of the statements that were executed on a connection, by statement name. PostgreSQL fails a statement whose columns have
 * changed since.
 */
const COLUMNS = new WeakMap<Connection, Map<string, readonly Column[]>>();

/**
 * A statement that a pg client executes instead of one of pg's own queries. It requests its columns once per connection, and avoids pg's
 * events and copies, which take half of the time that a node spends on a short statement. Its interface to pg is the one that the package
 * pg-cursor uses.
 */
class Query {
  /** Set by the client or pool that executes the query. */
  callback: Callback | undefined;
  readonly query_timeout: number | undefined;
  /** The statements in their order. The rows of the last one are returned. */
  readonly #statements: readonly Statement[];
  readonly #last: Statement;
  /** The index of the statement that is being executed. */
  #at = 0;
  readonly #getParser: GetParser;
  readonly #rows: unknown[] = [];
  #columns: readonly Column[] | undefined;
  #isDescribed = false;
  #failure: Error | null = null;

  constructor(before: readonly Statement[], last: Statement, getParser: GetParser) {
    this.query_timeout = last.query_timeout;
    this.#last = last;
    this.#statements = [...before, last];
    this.#getParser = getParser;
  }

  /** Name and text of the statement that is being executed. pg reads them when PostgreSQL has parsed the statement. */
  get name(): string {
    return this.#statements[this.#at]?.name ?? "";
  }

  get text(): string {
    return this.#statements[this.#at]?.text ?? "";
  }

  get #isLast(): boolean {
    return this.#at === this.#statements.length - 1;
  }

  submit(connection: Connection): null {
    this.#columns = COLUMNS.get(connection)?.get(this.#last.name);
    this.#isDescribed = this.#columns !== undefined;
    connection.stream.cork();
    try {
      for (const [at, { name, text, values }] of this.#statements.entries()) {
        if (connection.parsedStatements[name] === undefined) connection.parse({ name, text });
        connection.bind({ statement: name, values, valueMapper: toSend });
        if (at === this.#statements.length - 1 && !this.#isDescribed) connection.describe({ type: "P" });
        connection.execute({});
      }
    } catch (error) {
      this.#failure = error as Error;
    } finally {
      connection.sync();
      connection.stream.uncork();
    }
    return null;
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#getParser(dataTypeID, "text") }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (!this.#isLast || this.#failure) return;
    const columns = this.#columns as readonly Column[];
    const row: Record<string, unknown> = {};
    try {
      for (let at = 0; at < fields.length; at += 1) {
        const text = fields[at] as string | null;
        const { name, parse } = columns[at] as Column;
        row[name] = text === null ? null : parse(text);
      }
      this.#rows.push(row);
    } catch (error) {
      this.#failure = error as Error;
    }
  }

  handleCommandComplete(): void {
    if (!this.#isLast) this.#at += 1;
  }

  handleEmptyQuery(): void {}

  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail("A statement has no data to copy.");
  }

  handleCopyData(): void {}

  handleReadyForQuery(connection: Connection): void {
    if (this.#failure) {
      this.callback?.(this.#failure);
      return;
    }
    // A statement that returns no rows has no description.
    if (!this.#isDescribed) columnsOf(connection).set(this.#last.name, this.#columns ?? []);
    this.callback?.(null, { rows: this.#rows });
  }

  /** PostgreSQL has refused the statement, or the connection broke. */
  handleError(error: Error): void {
    this.callback?.(error);
  }
}

function columnsOf(connection: Connection): Map<string, readonly Column[]> {
  let known = COLUMNS.get(connection);
  if (!known) {
    known = new Map();
    COLUMNS.set(connection, known);
  }
  return known;
}

/** A value as pg encodes it: text, or bytes. Large texts are encoded elsewhere. */
function toSend(value: Value): string | Buffer | LargeTexts | null {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  return isArray(value) ? textArray(value.map((one) => (typeof one === "string" ? one : `\\x${one.toString("hex")}`))) : value;
}

const isArray = (value: Value): value is readonly string[] | readonly Buffer[] => Array.isArray(value);

/**
 * Executes a statement on a connection, or on the next one of a pool that is free.
 *
 * @param before statements that are executed before it in the same round trip. Their rows are dropped. If one fails, so does the statement,
 *   and outside of a transaction none of them has any effect. They may not have large texts
 */
export function execute(
  on: pg.Pool | pg.ClientBase,
  statement: Statement,
  types: pg.CustomTypesConfig,
  before: readonly Statement[] = [],
): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const query = new Query(before, statement, types.getTypeParser as GetParser);
    (on as { query(query: Query, callback: Callback): unknown }).query(query, (error, result) =>
      error ? reject(error) : resolve(result as QueryResult),
    );
  });
}
