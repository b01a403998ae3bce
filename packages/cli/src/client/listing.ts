import type { List } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { printRecords } from "../output/table.ts";
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
 * Prints a list, newest first.
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
  const records: Item[] = [];
  const max = all ? Number.POSITIVE_INFINITY : limit;
  for await (const record of read(Math.min(max + 1, PAGE))) {
    if (records.length === max) {
      if (process.stderr.isTTY) process.stderr.write(`tidemill: There are more. --limit or --all lists them.\n`);
      break;
    }
    records.push(record);
  }
  printRecords(json ? records : records.map(rowOf), columns, json);
}

function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 1.");
  return Number(text);
}
