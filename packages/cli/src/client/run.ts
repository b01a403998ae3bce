import { ListRuns } from "@tidemill/contract";
import type { Command } from "commander";
import { printRunExplanation } from "../output/explanation.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { errorText, printRun } from "./show-run.ts";
import { readSeconds } from "./timeout.ts";
import { watchRun } from "./watch-run.ts";

const COLUMNS = ["run", "workflow", "status", "attempt", "attempts", "created_at", "ended_at", "error"];
const OWN = ["limit", "cursor", "workflowId"];

export function addRunCommands(program: Command): void {
  const run = program.command("run").description("Runs of workflows");

  onService<{ limit: number; workflow?: string }>(
    addFields(withLimit(run.command("list").description("List runs, newest first")), ListRuns, OWN).option(
      "--workflow <id>",
      "Only runs of this workflow",
    ),
    async (tidemill, { options }) => {
      const { workflow: workflowId } = options;
      // For a misspelt workflow, the list of runs is empty. This request says which one was probably meant.
      if (workflowId !== undefined) await tidemill.workflows.get(workflowId);
      const filter = { ...readFields<ListRuns>(ListRuns, options, OWN), ...(workflowId !== undefined && { workflowId }) };
      await printList(
        (limit) => tidemill.runs.list({ ...filter, limit }),
        COLUMNS,
        options,
        ({ runId, workflowId: of, createdAt, endedAt, error, ...record }) => ({
          ...record,
          ...{ run: runId, workflow: of, created_at: createdAt, ended_at: endedAt, error: error && errorText(error) },
        }),
      );
    },
  );

  for (const [verb, about] of [
    ["get", "Show a run with its steps, what it waits for, and what can be done next"],
    ["cancel", "Cancel a run that has not ended"],
    ["retry", "Let a failed or cancelled run continue from its journal, with fresh attempts"],
  ] as const) {
    onService(
      run.command(verb).description(about).argument("<run>", "Id of the run, run_…"),
      async (tidemill, { args: [id = ""], options }) => printRun(await tidemill.runs[verb](checkRunId(id)), options.json),
    );
  }

  onService(
    run
      .command("explain")
      .description("Explain why a run is not being executed, and estimate when it will be")
      .argument("<run>", "Id of the run, run_…"),
    async (tidemill, { args: [id = ""], options }) => printRunExplanation(await tidemill.runs.explain(checkRunId(id)), options.json),
  );

  onService<{ timeout?: number }>(
    run
      .command("watch")
      .description("Print what happens to a run until it has ended. The exit code is 0 if it completes, otherwise 8")
      .argument("<run>", "Id of the run, run_…")
      .option("--timeout <seconds>", "Stop after this many seconds, with exit code 8", readSeconds),
    (tidemill, { args: [id = ""], options }) => watchRun(tidemill, id, options),
  );
}

function checkRunId(id: string): string {
  if (id.startsWith("run_")) return id;
  throw new Error(`"${id}" is not the id of a run, which begins with run_. List runs with: tidemill run list`);
}
