import type { Job, Tidemill } from "@tidemill/sdk";
import { endWithOutput } from "../output/lost-output.ts";
import { coloured, printable, printJsonLine, writeLine } from "../output/table.ts";
import { LiveJobs } from "./live-jobs.ts";

interface TailOptions {
  /** Seconds. */
  readonly every: number;
  readonly json?: boolean;
}

const MAX_QUEUES = 10;
const PAGE = 100;

/**
 * `tidemill tail`: prints the newest jobs of queues as they change. When jobs have changed, it sends one request per queue. It never
 * returns; the process ends when its output cannot be written.
 */
export async function tailQueues(tidemill: Tidemill, queues: readonly string[], options: TailOptions): Promise<void> {
  if (queues.length > MAX_QUEUES) throw new Error(`At most ${MAX_QUEUES} queues can be followed at once.`);
  endWithOutput();
  const jobs = new LiveJobs(tidemill);
  try {
    await tail(tidemill, queues, jobs, options);
  } finally {
    jobs.close();
  }
}

async function tail(tidemill: Tidemill, queues: readonly string[], jobs: LiveJobs, { every, json }: TailOptions): Promise<never> {
  const tails = queues.map((queue) => ({ queue, sights: new Sights() }));
  for (let isFirst = true; ; isFirst = false) {
    for (const { queue, sights } of tails) {
      const { data } = await tidemill.queue(queue).jobs.list({ limit: PAGE });
      const { changed, missed } = sights.update(data);
      // Jobs that existed before are not printed.
      if (isFirst) continue;
      if (missed && !json) process.stderr.write(`tidemill: ${queue} has more new jobs than are shown.\n`);
      for (const job of changed) {
        if (json) printJsonLine(job);
        else writeLine(lineOf(job));
      }
    }
    if (isFirst && process.stderr.isTTY) process.stderr.write("Waiting for jobs. Ctrl-C ends.\n");
    await jobs.changed(every * 1000);
  }
}

/** The newest jobs of a queue, as they were last seen. */
export class Sights {
  #seen: ReadonlyMap<string, string> | null = null;

  /**
   * @param page the newest jobs, the newest first
   * @returns the jobs that are new or have changed, oldest first; and whether jobs may be missing, because none of the page was known
   */
  update(page: readonly Job[]): { changed: Job[]; missed: boolean } {
    const before = this.#seen;
    this.#seen = new Map(page.map((job) => [job.id, sightOf(job)]));
    const changed = page.filter((job) => before?.get(job.id) !== sightOf(job)).reverse();
    return { changed, missed: before !== null && page.length === PAGE && !page.some(({ id }) => before.has(id)) };
  }
}

const sightOf = ({ state, attempt }: Job): string => `${state} ${attempt}`;

function lineOf({ id, queue, state, attempt, attempts, tag, last_error }: Job): string {
  const error = state === "failed" || state === "delayed" ? last_error?.message : undefined;
  const facts = [
    queue,
    id,
    ...(attempt > 0 ? [`attempt ${attempt} of ${attempts}`] : []),
    ...(tag ? [tag] : []),
    ...(error ? [error] : []),
  ];
  return `${time.format()}  ${coloured(state)}  ${printable(facts.join("  "))}`;
}

const time = new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium" });
