/** What callers are told of a database that is read-only. */
export const READ_ONLY = "The database accepts no writes: it is read-only.";

/** What callers are told of a database that can be reached and accepts no writes, by SQLSTATE: read_only_sql_transaction, disk_full. */
const MESSAGES: Readonly<Record<string, string>> = { "25006": READ_ONLY, "53100": "The database accepts no writes: its disk is full." };

/** What callers are told of a statement that failed with this SQLSTATE. Undefined: the code says nothing about writes. */
export const refusedWrites = (code: string | undefined): string | undefined => MESSAGES[code ?? ""];

/** Whether a statement failed because the database, which can be reached, accepts no writes. */
export const refusesWrites = (error: unknown): boolean => refusedWrites((error as { cause?: { code?: string } }).cause?.code) !== undefined;
