/** The message of requests when the database can be reached and accepts no writes. The reason is for operators: it is in the log. */
export const WRITES_REFUSED = "The database accepts no writes at the moment.";

/** SQLSTATEs read_only_sql_transaction and disk_full. */
const CODES: ReadonlySet<string | undefined> = new Set(["25006", "53100"]);

/** Whether a statement failed with this SQLSTATE because the database, which can be reached, accepts no writes. */
export const isWriteRefused = (code: string | undefined): boolean => CODES.has(code);

/** The same of the error that callers get. */
export const refusesWrites = (error: unknown): boolean => isWriteRefused((error as { cause?: { code?: string } }).cause?.code);
