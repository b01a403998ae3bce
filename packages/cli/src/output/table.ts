import stringWidth from "string-width";
import { styled } from "./styled.ts";

type Cells = Readonly<Record<string, unknown>>;

/** Colours of states, by their meaning for the reader. */
const COLOURS: Readonly<Record<string, "cyan" | "gray" | "green" | "red" | "yellow">> = {
  active: "cyan",
  running: "cyan",
  completed: "green",
  ok: "green",
  waiting: "yellow",
  delayed: "yellow",
  pending: "yellow",
  sleeping: "yellow",
  pending_approval: "yellow",
  warning: "yellow",
  failed: "red",
  rejected: "red",
  cancelled: "gray",
};

/**
 * Prints rows. In a terminal they are a table, whose columns are as wide as their widest cells. Elsewhere the cells of a line are separated
 * by tabs. Without rows it prints only the head.
 */
export const printTable = (rows: readonly Cells[], columns: readonly string[] = Object.keys(rows[0] ?? {})): void =>
  new TablePrinter(columns).print(rows);

/** Prints a table in parts. Each part may make its columns wider. */
class TablePrinter {
  readonly #columns: readonly string[];
  #widths: readonly number[];
  hasHead = false;

  constructor(columns: readonly string[]) {
    this.#columns = columns;
    this.#widths = columns.map(() => 0);
  }

  print(rows: readonly Cells[]): void {
    const head = this.hasHead ? [] : [this.#columns.map((column) => column.toUpperCase())];
    this.hasHead = true;
    const lines = rows.map((row) => this.#columns.map((column) => printable(showCell(row[column]))));
    if (!process.stdout.isTTY) {
      for (const cells of [...head, ...lines]) writeLine(cells.join("\t"));
      return;
    }
    this.#widths = this.#widths.map((width, at) =>
      [...head, ...lines].reduce((max, cells) => Math.max(max, stringWidth(cells[at] ?? "")), width),
    );
    for (const cells of head) writeLine(this.#aligned(cells, (name) => styled("bold", name)));
    for (const cells of lines) writeLine(this.#aligned(cells, coloured));
  }

  #aligned(cells: readonly string[], style: (cell: string) => string): string {
    const spaces = (cell: string, at: number) =>
      at === cells.length - 1 ? "" : " ".repeat((this.#widths[at] ?? 0) + 2 - stringWidth(cell));
    return cells
      .map((cell, at) => style(cell) + spaces(cell, at))
      .join("")
      .trimEnd();
  }
}

/** Prints an array in parts. The output is the same as that of `printJson`. */
class ArrayPrinter {
  #isEmpty = true;

  print(values: readonly unknown[]): void {
    for (const value of values) {
      const lines = JSON.stringify(value, null, 2).split("\n").map(printable);
      process.stdout.write(`${this.#isEmpty ? "[" : ","}\n  ${lines.join("\n  ")}`);
      this.#isEmpty = false;
    }
  }

  end(): void {
    writeLine(this.#isEmpty ? "[]" : "\n]");
  }
}

/** Prints records as they come: a table of some of their fields, or all of them as JSON. */
export interface RecordPrinter<Item> {
  print(records: readonly Item[]): unknown;
  end(): unknown;
}

/** @param rowsOf the row of a record in a table, or its rows */
export function recordPrinter<Item extends object>(
  columns: readonly string[],
  json: boolean | undefined,
  rowsOf: (record: Item) => object | readonly object[] = (record) => record,
): RecordPrinter<Item> {
  if (json) return new ArrayPrinter();
  const table = new TablePrinter(columns);
  return {
    // The first records decide the width of the head.
    print: (records) => records.length > 0 && table.print(records.flatMap(rowsOf) as Cells[]),
    end: () => table.hasHead || table.print([]),
  };
}

/** Text in the colour of the state that it names. */
export const coloured = (text: string): string => (COLOURS[text] ? styled(COLOURS[text], text) : text);

/** Prints one record: a table of one row, or JSON. */
export function printRecord(record: object, json: boolean | undefined): void {
  if (json) printJson(record);
  else printTable([record as Cells]);
}

/** Prints one record with a line for each field, or as JSON. */
export function printFields(record: object, json: boolean | undefined): void {
  if (json) {
    printJson(record);
    return;
  }
  const fields = Object.entries(record).map(([name, value]) => ({ name, value: printable(showCell(value)) }));
  const width = process.stdout.isTTY ? Math.max(...fields.map(({ name }) => name.length)) + 2 : 0;
  for (const { name, value } of fields) {
    writeLine(width > 0 ? `${styled("bold", name)}${" ".repeat(width - name.length)}${coloured(value)}`.trimEnd() : `${name}\t${value}`);
  }
}

/** Prints records: a table of some of their fields, or all of them as JSON. */
export function printRecords(records: readonly object[], columns: readonly string[], json: boolean | undefined): void {
  if (json) printJson(records);
  else printTable(records as readonly Cells[], columns);
}

export function printJson(value: unknown): void {
  for (const line of JSON.stringify(value, null, 2).split("\n")) writeLine(printable(line));
}

/** Prints a value as one line of JSON, for commands that print until they are stopped. */
export const printJsonLine = (value: unknown): void => writeLine(printable(JSON.stringify(value)));

export const writeLine = (line: string): void => void process.stdout.write(`${line}\n`);

/** A value on one line. */
export function showCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Tenants choose names. A name must not move the cursor of a terminal, end its line, or reverse its direction. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
