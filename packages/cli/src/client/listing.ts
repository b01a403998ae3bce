import type { List } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { recordPrinter } from "../output/table.ts";
import type { CommonOptions } from "./command.ts";

interface ListOptions extends CommonOptions {
  readonly limit: number;
  readonly all?: boolean;
}

const DEFAULT_LIMIT = 50;
const PAGE = 100;

/** Adds the options that say how many records a list shows. */
export const withLimit = (command: Command): Command =>
  command
    .option("--limit <number>", "The largest number of records to list", readLimit, DEFAULT_LIMIT)
    .option("--all", "List all records, however many there are");

/**
 * Prints a list, newest first, page by page.
 *
 * @param read the list, by the size of its pages
 * @param rowOf the fields of a record that a table shows
 */
export async function printList<Item extends object>(
  read: (limit: number) => List<Item, { cursor?: string }>,
  columns: readonly string[],
  { limit, all, json }: ListOptions,
  rowOf: (record: Item) => object = (record) => record,
): Promise<void> {
  const printer = recordPrinter(columns, json, rowOf);
  let left = all ? Number.POSITIVE_INFINITY : limit;
  let isRead = true;
  const stop = () => {
    isRead = false;
  };
  process.stdout.once("error", stop);
  for await (const { data } of read(Math.min(left + 1, PAGE)).pages()) {
    printer.print(data.slice(0, left));
    const isCut = data.length > left;
    left = Math.max(0, left - data.length);
    if (isCut && process.stderr.isTTY) process.stderr.write(`tidemill: There are more. --limit or --all lists them.\n`);
    if (isCut || !isRead) break;
  }
  process.stdout.off("error", stop);
  printer.end();
}

function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 1.");
  return Number(text);
}
