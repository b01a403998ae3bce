import type { List } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { type ListOptions, printPages } from "../output/print-pages.ts";

/** Adds the options that say how many records a list shows. */
export const withLimit = (command: Command): Command =>
  command
    .option("--limit <number>", "The largest number of records to list, 50 by default", readLimit)
    .option("--all", "List all records, however many there are");

/**
 * Prints a list of the service, page by page.
 *
 * @param read the list, by the size of its pages
 * @param rowOf the fields of a record that a table shows
 */
export const printList = <Item extends object>(
  read: (limit: number) => List<Item, { cursor?: string }>,
  columns: readonly string[],
  options: ListOptions,
  rowOf?: (record: Item) => object,
): Promise<void> =>
  printPages(
    async function* (limit) {
      for await (const { data } of read(limit).pages()) yield data;
    },
    columns,
    options,
    rowOf,
  );

function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("Expected a whole number of at least 1.");
  return Number(text);
}
