import { SendEvent } from "@tidemill/contract";
import type { SendOptions } from "@tidemill/sdk";
import type { Command } from "commander";
import { printFields } from "../output/table.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { parseJson } from "./json-input.ts";

const OWN = ["name", "data"];

export function addEventCommands(program: Command): void {
  const event = program.command("event").description("Events, which start runs of workflows");
  onService(
    addFields(
      event
        .command("send")
        .description("Send an event: it starts a run of each workflow that listens to it")
        .argument("<name>", "Name of the event, for example user.created")
        .argument("[data]", "The input of the runs: any JSON value. Default: null"),
      SendEvent,
      OWN,
    ),
    async (tidemill, { args: [name = "", data], options }) =>
      printFields(
        await tidemill.events.send(
          name,
          data === undefined ? null : parseJson("data", data),
          readFields<SendOptions>(SendEvent, options, OWN),
        ),
        options.json,
      ),
  );
}
