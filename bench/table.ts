import { cpus, totalmem } from "node:os";

/** A row of the table of results. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  /** What the figure is compared with, measured in the same run. */
  readonly yardstick: string;
  /** The measured figure divided by the yardstick. */
  readonly ratio: string;
  /** The limit that the figure, or its ratio, must keep. */
  readonly bar: string;
  readonly met: boolean;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

export const quantile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

export const thousands = (value: number): string => Math.round(value).toLocaleString("en-US");

export function describeMachine(): string {
  const [first] = cpus();
  return `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${first?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}

/** The figures as a Markdown table, ready for RESULTS.md. */
export function printTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, measured, yardstick, ratio, bar, met }) => [
    name,
    measured,
    yardstick,
    ratio,
    bar,
    met ? "met" : "missed",
  ]);
  const head = ["figure", "measured", "yardstick", "ratio", "bar", ""];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
