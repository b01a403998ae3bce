import { recordPrinter } from "./table.ts";

/** How many records of a list are printed. */
export interface ListOptions {
  readonly limit?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

const PAGE = 100;
const DEFAULT_LIMIT = 50;

/**
 * Prints a list page by page, up to the requested number of records. If there are more, it says so on the standard error, unless a script
 * has set the limit.
 *
 * @param read the pages of the list, by their size
 * @param rowsOf the row of a record in a table, or its rows
 */
export async function printPages<Item extends object>(
  read: (limit: number) => AsyncIterable<readonly Item[]>,
  columns: readonly string[],
  { limit, all, json }: ListOptions,
  rowsOf: (record: Item) => object | readonly object[] = (record) => record,
): Promise<void> {
  const printer = recordPrinter(columns, json, rowsOf);
  let left = all ? Number.POSITIVE_INFINITY : (limit ?? DEFAULT_LIMIT);
  let isRead = true;
  const stop = () => {
    isRead = false;
  };
  process.stdout.once("error", stop);
  for await (const records of read(Math.min(left + 1, PAGE))) {
    printer.print(records.slice(0, left));
    const isCut = records.length > left;
    left = Math.max(0, left - records.length);
    if (isCut && (limit === undefined || process.stderr.isTTY))
      process.stderr.write(`tidemill: There are more. Use --limit or --all to list them.\n`);
    if (isCut || !isRead) break;
  }
  process.stdout.off("error", stop);
  printer.end();
}
