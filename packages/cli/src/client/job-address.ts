import { type Tidemill, TidemillError } from "@tidemill/sdk";
import type { Command } from "commander";

/** Where a job is. */
export interface JobAddress {
  readonly queue: string;
  readonly id: string;
}

/** Queues in which a job is looked for when the command does not name one. */
const MAX_QUEUES = 100;

/** Adds the arguments that name a job: its id, or its queue and its id. */
export const withJob = (command: Command): Command =>
  command
    .argument("<job...>", "Id of the job, job_…. With the name of its queue before it, the job need not be looked for in all queues")
    .usage("[options] [queue] <job>");

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
  const { data: queues, next_cursor } = await tidemill.queues.list({ limit: MAX_QUEUES });
  for (const { name } of queues) if (await hasJob(tidemill, name, id)) return name;
  if (next_cursor !== null) throw new Error(`The job is not in the newest ${MAX_QUEUES} queues. Name its queue before it.`);
  throw new TidemillError({ code: "NOT_FOUND", message: `No queue has a job "${id}".` });
}

async function hasJob(tidemill: Tidemill, queue: string, id: string): Promise<boolean> {
  try {
    await tidemill.queue(queue).jobs.get(id);
    return true;
  } catch (error) {
    if (error instanceof TidemillError && error.code === "NOT_FOUND") return false;
    throw error;
  }
}
