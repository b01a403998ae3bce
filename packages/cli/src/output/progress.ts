import { Presets, SingleBar } from "cli-progress";

/** The progress of a long command. It is shown while the command runs, in terminals only. */
export interface Progress {
  /** @param done in the unit of the total */
  update(done: number, text: string): void;
  end(): void;
}

const HIDDEN: Progress = { update: () => {}, end: () => {} };

/** @param total the number that `update` counts up to; null if it is not known: then only the text is shown */
export function showProgress(total: number | null): Progress {
  if (!process.stderr.isTTY) return HIDDEN;
  const format = total === null ? "  {text}" : "  {bar} {percentage}%  {text}";
  const bar = new SingleBar({ format, stream: process.stderr, clearOnComplete: true, hideCursor: true, fps: 10 }, Presets.shades_classic);
  bar.start(total ?? 1, 0, { text: "" });
  return { update: (done, text) => bar.update(Math.min(done, total ?? 0), { text }), end: () => bar.stop() };
}

export const showCount = (count: number): string => count.toLocaleString("en");
