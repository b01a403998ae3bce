import { TriggerWorkflow } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService, withConnection } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { FILE, readJsonInput } from "./json-input.ts";
import { printList, withLimit } from "./listing.ts";
import { checkCode } from "./workflow-check.ts";

const ID = ["<workflow>", "Id of the workflow"] as const;
const COLUMNS = ["id", "version", "attempts", "concurrency", "events", "cron", "next_run_at", "updated_at"];
const OWN = ["input"];

export function addWorkflowCommands(program: Command): void {
  const workflow = program.command("workflow").description("Workflows, which workers register");

  onService<{ limit: number }>(withLimit(workflow.command("list").description("List workflows, newest first")), (tidemill, { options }) =>
    printList(
      (limit) => tidemill.workflows.list({ limit }),
      COLUMNS,
      options,
      ({ events, nextRunAt, updatedAt, ...record }) => ({
        ...record,
        events: events.join(","),
        next_run_at: nextRunAt,
        updated_at: updatedAt,
      }),
    ),
  );

  onService(
    workflow
      .command("get")
      .description("Show a workflow with its settings")
      .argument(...ID),
    async (tidemill, { args: [id = ""], options }) => printFields(await tidemill.workflows.get(id), options.json),
  );

  onService<{ file?: string }>(
    addFields(
      workflow
        .command("trigger")
        .description("Start a run of a workflow")
        .argument(...ID)
        .argument(
          "[input]",
          "The input of the run: any JSON value. Without it, the input is read from the standard input; null if that is empty or a terminal",
        )
        .option(...FILE),
      TriggerWorkflow,
      OWN,
    ),
    async (tidemill, { args: [id = "", argument], options }) => {
      const input = (await readJsonInput({ what: "input", argument, file: options.file })) ?? null;
      const started = await tidemill.workflows.trigger(id, { ...readFields<TriggerWorkflow>(TriggerWorkflow, options, OWN), input });
      printFields(started, options.json);
    },
  );

  withConnection(
    workflow
      .command("check")
      .description(
        "Replay the journals of all runs in flight with local code, and list the runs whose journals do not fit. No step is executed. For CI, before " +
          "a deployment",
      )
      .argument("<module>", "File that exports workflows, lists of them, or a Worker that was not started"),
  ).action(checkCode);

  onService<{ yes?: boolean }>(
    workflow
      .command("delete")
      .description("Delete a workflow with its runs. Runs that have not ended are cancelled. This cannot be undone")
      .argument(...ID)
      .option(...YES),
    async (tidemill, { args: [id = ""], options }) => {
      await askFirst(`Delete the workflow ${id} with its runs?`, options);
      await tidemill.workflows.delete(id);
      printRecord({ workflow: id, deleted: true }, options.json);
    },
  );
}
