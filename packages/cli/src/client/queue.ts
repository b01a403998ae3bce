import { CreateQueue, PatchQueue, RetryAll } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { retryWithProgress } from "./retry-with-progress.ts";

const NAME = ["<queue>", "Name of the queue"] as const;
const COLUMNS = ["name", "type", "callback_url", "concurrency", "paused", "created_at"];

export function addQueueCommands(program: Command): void {
  const queue = program.command("queue").description("Queues and their settings");

  onService<{ limit: number }>(withLimit(queue.command("list").description("List queues, newest first")), (tidemill, { options }) =>
    printList((limit) => tidemill.queues.list({ limit }), COLUMNS, options),
  );

  onService(
    queue
      .command("get")
      .description("Show a queue with its metrics and its circuit")
      .argument(...NAME),
    async (tidemill, { args: [name = ""], options }) => printFields(await tidemill.queues.get(name), options.json),
  );

  onService(
    addFields(
      queue
        .command("create")
        .description("Create a queue. Its callback secret is only shown this once")
        .argument(...NAME),
      CreateQueue,
      ["name"],
    ),
    async (tidemill, { args: [name = ""], options }) =>
      printFields(await tidemill.queues.create({ ...readFields<CreateQueue>(CreateQueue, options, ["name"]), name }), options.json),
  );

  onService(
    addFields(
      queue
        .command("update")
        .description("Change settings of a queue")
        .argument(...NAME),
      PatchQueue,
      ["paused"],
    ),
    async (tidemill, { args: [name = ""], options }) =>
      printFields(await tidemill.queues.update(name, readFields<PatchQueue>(PatchQueue, options)), options.json),
  );

  for (const [verb, paused, about] of [
    ["pause", true, "Pause a queue: no more of its jobs start"],
    ["resume", false, "Resume a paused queue: its jobs start again"],
  ] as const) {
    onService(
      queue
        .command(verb)
        .description(about)
        .argument(...NAME),
      async (tidemill, { args: [name = ""], options }) => {
        await tidemill.queues.update(name, { paused });
        printRecord({ queue: name, paused }, options.json);
      },
    );
  }

  onService(
    addFields(
      queue
        .command("retry")
        .description("Retry the failed jobs of a queue")
        .argument(...NAME),
      RetryAll,
    ),
    (tidemill, { args: [name = ""], options }) => {
      const filter = readFields<RetryAll>(RetryAll, options);
      const isFiltered = Object.keys(filter).length > 0;
      return retryWithProgress(tidemill, { queue: name, isFiltered }, (call) => tidemill.queues.retryAll(name, filter, call), options);
    },
  );

  onService<{ yes?: boolean }>(
    queue
      .command("delete")
      .description("Delete a queue with its jobs and schedules. This cannot be undone")
      .argument(...NAME)
      .option(...YES),
    async (tidemill, { args: [name = ""], options }) => {
      await askFirst(`Delete the queue ${name} with its jobs and schedules?`, options);
      await tidemill.queues.delete(name);
      printRecord({ queue: name, deleted: true }, options.json);
    },
  );
}
