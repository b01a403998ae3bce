/** Prints rows as columns, each as wide as its widest cell. */
export function printTable(rows: readonly Record<string, string>[]): void {
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => (row[column] ?? "").length)));
  const line = (cells: string[]) =>
    `${cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd()}\n`;
  process.stdout.write(line(columns.map((column) => column.toUpperCase())));
  for (const row of rows) process.stdout.write(line(columns.map((column) => row[column] ?? "")));
}
