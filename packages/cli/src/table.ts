type Cells = Readonly<Record<string, unknown>>;

/** Prints rows in columns, each as wide as its widest cell. Without rows it prints only the head. */
export function printTable(rows: readonly Cells[], columns: readonly string[] = Object.keys(rows[0] ?? {})): void {
  const lines = rows.map((row) => columns.map((column) => printable(String(row[column] ?? ""))));
  const head = columns.map((column) => column.toUpperCase());
  const widths = columns.map((_, at) => Math.max(...[head, ...lines].map((cells) => cells[at]?.length ?? 0)));
  for (const cells of [head, ...lines]) {
    const line = cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ");
    process.stdout.write(`${line.trimEnd()}\n`);
  }
}

/** Prints one record: a table of one row, or JSON. */
export function printRecord(record: Cells, json: boolean | undefined): void {
  if (json) printJson(record);
  else printTable([record]);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2).split("\n").map(printable).join("\n")}\n`);
}

/** Tenants choose names. A name must not move the cursor of the operator's terminal, end its line, or reverse its direction. */
const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
