import type { Command } from "commander";
import { printFields } from "../output/table.ts";
import { onService } from "./command.ts";
import { readSeconds } from "./timeout.ts";
import { watchRun } from "./watch-run.ts";

export function addRunCommands(program: Command): void {
  const run = program.command("run").description("Runs of workflows");
  onService(
    run
      .command("retry")
      .description("Let a failed or cancelled run go on from its journal, with fresh attempts")
      .argument("<run>", "Id of the run, run_…"),
    async (tidemill, { args: [id = ""], options }) => printFields(await tidemill.runs.retry(id), options.json),
  );
  onService<{ timeout?: number }>(
    run
      .command("watch")
      .description("Print what happens to a run until it has ended. The exit code is 0 when it completes, else 8")
      .argument("<run>", "Id of the run, run_…")
      .option("--timeout <seconds>", "Stop after so long, with exit code 8", readSeconds),
    (tidemill, { args: [id = ""], options }) => watchRun(tidemill, id, options),
  );
}
