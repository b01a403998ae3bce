import { setTimeout as sleep } from "node:timers/promises";
import type { JobWithLog, Tidemill } from "@tidemill/sdk";
import { EXIT_CODES } from "../exit-code.ts";
import { coloured, printable, printJsonLine, writeLine } from "../output/table.ts";
import type { JobAddress } from "./job-address.ts";

interface WatchOptions {
  /** Seconds. */
  readonly timeout?: number;
  readonly json?: boolean;
}

const FINISHED = new Set(["completed", "failed", "cancelled", "rejected"]);
/** The pause between two requests: short at first, then longer by half each time. Milliseconds. */
const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 3_000;
const GROWTH = 1.5;

/** `tidemill job watch`: prints each change of a job until it has finished, or the time has passed. */
export async function watchJob(tidemill: Tidemill, { queue, id }: JobAddress, { timeout, json }: WatchOptions): Promise<void> {
  const startedMs = performance.now();
  let shown = "";
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(lookMs * GROWTH, MAX_LOOK_MS)) {
    const job = await tidemill.queue(queue).jobs.get(id);
    const sight = `${job.state} ${job.attempt}`;
    if (sight !== shown) {
      shown = sight;
      lookMs = FIRST_LOOK_MS;
      if (json) printJsonLine(job);
      else writeLine(lineOf(job));
    }
    const isOver = timeout !== undefined && performance.now() - startedMs >= timeout * 1000;
    if (FINISHED.has(job.state) || isOver) {
      if (job.state !== "completed") process.exitCode = EXIT_CODES.unsuccessful.code;
      return;
    }
    await sleep(lookMs);
  }
}

function lineOf({ state, attempt, attempts, run_at, last_error, result }: JobWithLog): string {
  const facts = [
    ...(attempt > 0 ? [`attempt ${attempt} of ${attempts}`] : []),
    ...(state === "delayed" ? [`next at ${run_at}`] : []),
    ...(last_error && state !== "completed" && state !== "active" ? [last_error.message] : []),
    ...(state === "completed" && result !== null ? [JSON.stringify(result)] : []),
  ];
  return `${coloured(state)}  ${printable(facts.join(", "))}`.trimEnd();
}
