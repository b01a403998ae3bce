import { VERSION } from "@tidemill/server";
import { Command } from "commander";
import { showConfig } from "./config.ts";
import { createKeyCommand, createWorkspaceCommand } from "./create.ts";
import { fail } from "./fail.ts";
import { up } from "./up.ts";

// Whoever reads our words may go first ("| head", a closed terminal); what is under way is finished all the same.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const program = new Command("tidemill").description("Queues whose jobs are delivered as signed HTTP callbacks.").version(VERSION);

program.command("up").description("start a node").action(up);
program.command("config").description("show every setting").option("--json", "as JSON").action(showConfig);

program
  .command("workspace")
  .description("workspaces of customers")
  .command("create")
  .argument("<name>")
  .option("--plan <plan>", "free, pro, team or enterprise", "free")
  .option("--json", "as JSON")
  .action(createWorkspaceCommand);

program
  .command("key")
  .description("keys of workspaces")
  .command("create")
  .argument("<workspace>", "id of the workspace: ws_…")
  .requiredOption("--name <name>", "what the key is for")
  .option("--role <role>", "admin, write or read", "write")
  .option("--expires-at <moment>", "RFC 3339 date and time")
  .option("--json", "as JSON")
  .action(createKeyCommand);

await program.parseAsync().catch(fail);
