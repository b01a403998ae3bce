import { ListAllJobs } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printJson, printTable, writeLine } from "../output/table.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { addressOf, withJob } from "./job-address.ts";
import { printList, withLimit } from "./listing.ts";
import { addManyCommands } from "./operation.ts";
import { readSeconds } from "./timeout.ts";
import { watchJob } from "./watch-job.ts";

const JOB_COLUMNS = ["id", "state", "tag", "attempt", "attempts", "run_at", "created_at"];
const PAGING = ["limit", "cursor"];

export function addJobCommands(program: Command): void {
  const job = program.command("job").description("Jobs of queues");

  onService<{ limit: number }>(
    addFields(
      withLimit(
        job
          .command("list")
          .description("List jobs of one queue or of all queues, newest first")
          .argument("[queue]", "Name of the queue. Without it, jobs of all queues are listed"),
      ),
      ListAllJobs,
      [...PAGING, "queue"],
    ),
    async (tidemill, { args: [queue], options }) => {
      // A misspelt name is an error instead of an empty list.
      if (queue !== undefined) await tidemill.queues.get(queue);
      const filter = readFields<ListAllJobs>(ListAllJobs, options, [...PAGING, "queue"]);
      const columns = queue === undefined ? ["id", "queue", ...JOB_COLUMNS.slice(1)] : JOB_COLUMNS;
      return printList((limit) => tidemill.jobs.list({ ...filter, ...(queue !== undefined && { queue }), limit }), columns, options);
    },
  );
  addManyCommands(job);

  onService(withJob(job.command("get").description("Show a job with its attempts")), async (tidemill, { args, options }) => {
    const { queue, id } = await addressOf(tidemill, args);
    const { attempts_log, ...record } = await tidemill.queue(queue).jobs.get(id);
    if (options.json) return printJson({ ...record, attempts_log });
    printFields(record, false);
    if (attempts_log.length === 0) return;
    writeLine("");
    printTable(
      attempts_log.map(({ error, ...entry }) => ({ ...entry, error: error?.message })),
      ["attempt", "started_at", "duration_ms", "outcome", "status", "worker", "error"],
    );
  });

  onService(
    withJob(job.command("retry").description("Retry a failed, cancelled or rejected job, with a fresh set of attempts")),
    async (tidemill, { args, options }) => {
      const { queue, id } = await addressOf(tidemill, args);
      printFields(await tidemill.queue(queue).jobs.retry(id), options.json);
    },
  );

  onService(
    withJob(job.command("delete").description("Cancel a job that has not finished, or remove one that has")),
    async (tidemill, { args, options }) => {
      const { queue, id } = await addressOf(tidemill, args);
      const cancelled = await tidemill.queue(queue).jobs.cancelOrRemove(id);
      printFields(cancelled ?? { id, removed: true }, options.json);
    },
  );

  onService<{ timeout?: number }>(
    withJob(
      job
        .command("watch")
        .description("Print what happens to a job until it has finished. The exit code is 0 if it completes, otherwise 8")
        .option("--timeout <seconds>", "Stop after this many seconds, with exit code 8", readSeconds),
    ),
    async (tidemill, { args, options }) => {
      await watchJob(tidemill, await addressOf(tidemill, args), options);
    },
  );
}
