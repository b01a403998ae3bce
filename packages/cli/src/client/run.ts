import type { Command } from "commander";
import { printFields } from "../output/table.ts";
import { onService } from "./command.ts";

export function addRunCommands(program: Command): void {
  const run = program.command("run").description("Runs of workflows");
  onService(
    run
      .command("retry")
      .description("Let a failed or cancelled run go on from its journal, with fresh attempts")
      .argument("<run>", "Id of the run, run_…"),
    async (tidemill, { args: [id = ""], options }) => printFields(await tidemill.runs.retry(id), options.json),
  );
}
