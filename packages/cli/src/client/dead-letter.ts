import { DeadLetterFilter, ListDeadLetters } from "@tidemill/contract";
import type { Command } from "commander";
import { printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { retryWithProgress } from "./retry-with-progress.ts";
import { rowWithError } from "./row-with-error.ts";

const COLUMNS = ["id", "queue", "tag", "attempt", "finished_at", "error"];
const GROUP_COLUMNS = ["fingerprint", "count", "error", "queues", "first_seen_at", "last_seen_at"];
const PAGING = ["limit", "cursor"];

export function addDeadLetterCommands(program: Command): void {
  const dlq = program.command("dlq").description("The dead-letter queue: failed jobs of all queues");

  onService<{ limit: number }>(
    addFields(
      withLimit(dlq.command("list").description("List failed jobs. Those that were enqueued last come first")),
      ListDeadLetters,
      PAGING,
    ),
    (tidemill, { options }) => {
      const filter = readFields<ListDeadLetters>(ListDeadLetters, options, PAGING);
      return printList((limit) => tidemill.deadLetters.list({ ...filter, limit }), COLUMNS, options, rowWithError);
    },
  );

  onService<{ limit: number }>(
    withLimit(
      dlq
        .command("groups")
        .description("List groups of failed jobs, by what failed. Other commands take a group's fingerprint with --fingerprint"),
    ),
    (tidemill, { options }) =>
      printList(
        (limit) => tidemill.deadLetters.groups({ limit }),
        GROUP_COLUMNS,
        options,
        ({ error, queues, ...group }) => ({
          ...group,
          queues: queues.join(" "),
          error: [error.code, error.status, error.host && `(${error.host})`, error.message].filter((part) => part !== null).join(" "),
        }),
      ),
  );

  onService(
    addFields(
      dlq.command("retry").description("Retry failed jobs: those that match every filter, or all in the workspace"),
      DeadLetterFilter,
    ),
    (tidemill, { options }) => {
      const filter = readFields<DeadLetterFilter>(DeadLetterFilter, options);
      const { queue, ...others } = filter;
      const scope = { queue, isFiltered: Object.keys(others).length > 0 };
      return retryWithProgress(tidemill, scope, (call) => tidemill.deadLetters.retry(filter, call), options);
    },
  );

  onService<{ yes?: boolean }>(
    addFields(
      dlq.command("purge").description("Remove failed jobs: those that match every filter, or all in the workspace"),
      DeadLetterFilter,
    ).option(...YES),
    async (tidemill, { options }) => {
      const filter = readFields<DeadLetterFilter>(DeadLetterFilter, options);
      const which = Object.entries(filter).map(([name, value]) => `${name} ${value}`);
      await askFirst(`Remove the failed jobs of ${which.length > 0 ? which.join(", ") : "the whole workspace"}?`, options);
      printRecord(await tidemill.deadLetters.purge(filter, { timeoutMs: 3_600_000 }), options.json);
    },
  );
}
