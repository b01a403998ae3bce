import { type Tidemill, TidemillError } from "@tidemill/sdk";
import type { Command } from "commander";

/** Where a job is. */
export interface JobAddress {
  readonly queue: string;
  readonly id: string;
}

/** Adds the arguments that name a job: its id, or its queue and its id. */
export const withJob = (command: Command): Command =>
  command.argument("<job...>", "Id of the job, job_…. The name of its queue may come before it").usage("[options] [queue] <job>");

/**
 * Reads the arguments of `withJob`.
 *
 * @throws when they do not name a job, or no queue has it
 */
export async function addressOf(tidemill: Tidemill, args: readonly string[]): Promise<JobAddress> {
  const [first = "", second, ...more] = args;
  const id = second ?? first;
  if (more.length > 0) throw new Error("Too many arguments: give the id of the job, or its queue and its id.");
  if (!id.startsWith("job_")) throw new Error(`"${id}" is not the id of a job.`);
  return { queue: second === undefined ? await findQueueOf(tidemill, id) : first, id };
}

async function findQueueOf(tidemill: Tidemill, id: string): Promise<string> {
  const [job] = (await tidemill.jobs.list({ id })).data;
  if (!job) throw new TidemillError({ code: "NOT_FOUND", message: `No queue has a job "${id}".` });
  return job.queue;
}
