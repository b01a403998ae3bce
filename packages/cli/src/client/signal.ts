import type { Command } from "commander";
import { printFields } from "../output/table.ts";
import { onService } from "./command.ts";
import { parseJson } from "./json-input.ts";

export function addSignalCommands(program: Command): void {
  const signal = program.command("signal").description("Signals that runs of workflows wait for");
  onService(
    signal
      .command("complete")
      .description("Complete a signal: the run that waits for it continues")
      .argument("<id>", "Id of the signal, as the workflow chose it")
      .argument("[payload]", "What the wait returns: any JSON value. Default: null"),
    async (tidemill, { args: [id = "", payload], options }) =>
      printFields(await tidemill.signals.complete(id, payload === undefined ? null : parseJson("payload", payload)), options.json),
  );
}
