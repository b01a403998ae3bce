/** What the demo shows while it runs. */
export interface Snapshot {
  readonly waiting: number;
  readonly inFlight: number;
  readonly done: number;
  readonly failed: number;
  readonly perSecond: number;
  /** Milliseconds; null before the first callback. */
  readonly p50: number | null;
  readonly p99: number | null;
}

const BAR = 40;
const LINE_EVERY_MS = 1_000;

export const count = (value: number): string => value.toLocaleString("en-US");
export const milliseconds = (ms: number | null): string => (ms === null ? "-" : `${ms.toFixed(1)} ms`);

/** The value below which `part` of the values lie. Null if there are no values. */
export function quantile(values: readonly number[], part: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? null;
}

/** Shows progress: two lines that are redrawn on a terminal, otherwise one line per second. */
export class Progress {
  readonly #out: NodeJS.WriteStream;
  readonly #jobs: number;
  #drawn = false;
  #lineAtMs = performance.now();

  constructor(out: NodeJS.WriteStream, jobs: number) {
    this.#out = out;
    this.#jobs = jobs;
  }

  show(snapshot: Snapshot): void {
    if (this.#out.isTTY) this.#redraw(snapshot);
    else if (performance.now() - this.#lineAtMs >= LINE_EVERY_MS) {
      this.#lineAtMs += LINE_EVERY_MS;
      this.#out.write(`${figures(snapshot)}  ${speeds(snapshot)}\n`);
    }
  }

  #redraw(snapshot: Snapshot): void {
    const filled = Math.round(BAR * Math.min(1, snapshot.done / this.#jobs));
    const lines = [`  ${"█".repeat(filled)}${"░".repeat(BAR - filled)}  ${speeds(snapshot)}`, `  ${figures(snapshot)}`];
    const up = this.#drawn ? "\x1b[2A" : "";
    this.#drawn = true;
    this.#out.write(`${up}${lines.map((line) => `\x1b[2K${line.slice(0, (this.#out.columns || 80) - 1)}\n`).join("")}`);
  }
}

const figures = ({ waiting, inFlight, done, failed }: Snapshot): string =>
  `waiting ${count(waiting)}  in flight ${count(inFlight)}  done ${count(done)}${failed > 0 ? `  failed ${count(failed)}` : ""}`;

const speeds = ({ perSecond, p50, p99 }: Snapshot): string =>
  `${count(Math.round(perSecond))}/s  p50 ${milliseconds(p50)}  p99 ${milliseconds(p99)}`;
