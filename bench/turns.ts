import { readFileSync } from "node:fs";
import { quantile } from "./table.ts";

const EVERY_MS = 10;

/** How late a timer came. Milliseconds. */
interface Lateness {
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** How late the event loop was, and how late it would have been on a machine with a free core. */
export interface Turns {
  readonly all: Lateness;
  readonly held: Lateness;
}

/** What this thread has done until now. Milliseconds. */
interface Moment {
  readonly atMs: number;
  /** On a core. */
  readonly ranMs: number;
  /** Ready to run while all cores were taken. */
  readonly waitedMs: number;
}

/** Linux only: the second number of schedstat is the time that a thread has waited on a run queue. */
function readMoment(): Moment {
  const { user, system } = process.threadCpuUsage();
  const [, waitedNs] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
  return { atMs: performance.now(), ranMs: (user + system) / 1_000, waitedMs: Number(waitedNs) / 1e6 };
}

/**
 * Looks every 10 ms how late the event loop is, as the node's own metric does, and how much of that it was held: by work, or by garbage
 * collection with all that it waits for. The rest is the wait for a core. Since it is not known in which order a thread ran and waited, the
 * larger of two estimates is taken: all but the wait, and all that it ran.
 */
export class TurnWatch {
  #all: number[] = [];
  #held: number[] = [];
  #timer: NodeJS.Timeout | undefined;

  #start(): NodeJS.Timeout {
    let last = readMoment();
    return setInterval(() => {
      const now = readMoment();
      const lateMs = Math.max(0, now.atMs - last.atMs - EVERY_MS);
      this.#all.push(lateMs);
      this.#held.push(Math.max(lateMs - (now.waitedMs - last.waitedMs), Math.min(lateMs, now.ranMs - last.ranMs)));
      last = now;
    }, EVERY_MS).unref();
  }

  /** What was seen since the last call. The first one begins the watch. */
  take(): Turns {
    this.#timer ??= this.#start();
    const turns = { all: latenessOf(this.#all), held: latenessOf(this.#held) };
    this.#all = [];
    this.#held = [];
    return turns;
  }
}

const latenessOf = (ms: readonly number[]): Lateness =>
  ms.length === 0 ? { p99Ms: 0, maxMs: 0 } : { p99Ms: quantile(ms, 0.99), maxMs: quantile(ms, 1) };
