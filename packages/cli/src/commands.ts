import { VERSION } from "@tidemill/server";
import { Command, InvalidArgumentError } from "commander";
import { approveCommand, listApprovalsCommand, rejectCommand } from "./approval.ts";
import { verifyAuditCommand } from "./audit.ts";
import { showConfig } from "./config.ts";
import { explainCommand } from "./explain.ts";
import { fail } from "./fail.ts";
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from "./key.ts";
import { listSchedulesCommand } from "./schedule.ts";
import { up } from "./up.ts";
import { rotateMasterKeyCommand, showVaultCommand } from "./vault.ts";
import { createWorkspaceCommand, deleteWorkspaceCommand, listWorkspacesCommand, updateWorkspaceCommand } from "./workspace.ts";

// Whoever reads our words may go first ("| head", a closed terminal); what is under way is finished all the same.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const program = new Command("tidemill").description("Queues whose jobs are delivered as signed HTTP callbacks.").version(VERSION);

program.command("up").description("start a node").action(up);
program.command("config").description("show every setting").option("--json", "as JSON").action(showConfig);

/** Options of what a plan limits. Source: contract §2. */
const withLimits = (command: Command): Command =>
  command
    .option("--executions <number>", 'executions per month, or "none"', numberOrNone)
    .option("--requests-per-minute <number>", 'requests per minute, or "none"', numberOrNone)
    .option("--retention-days <number>", 'days that history is kept, or "none" for ever', numberOrNone);

function numberOrNone(text: string): number | "none" {
  if (text === "none") return text;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It takes a whole number or "none".');
  return Number(text);
}

function oneToTen(text: string): number {
  if (!/^([1-9]|10)$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 1 to 10.");
  return Number(text);
}

const WORKSPACE = ["<workspace>", "id of the workspace: ws_…"] as const;
const JSON_OPTION = ["--json", "as JSON"] as const;

const workspace = program.command("workspace").description("workspaces of customers");
workspace
  .command("list")
  .description("list all workspaces, newest first")
  .option(...JSON_OPTION)
  .action(listWorkspacesCommand);
withLimits(workspace.command("create").description("make a workspace with its first key, which is shown this once"))
  .argument("<name>")
  .option("--plan <plan>", "free, pro, team or enterprise", "free")
  .option(...JSON_OPTION)
  .action(createWorkspaceCommand);
withLimits(workspace.command("update").description("change a workspace's name, plan or limits; a plan brings its own limits"))
  .argument(...WORKSPACE)
  .option("--name <name>", "another name")
  .option("--plan <plan>", "free, pro, team or enterprise")
  .option(...JSON_OPTION)
  .action(updateWorkspaceCommand);
workspace
  .command("delete")
  .description("delete a workspace with its queues, jobs and keys")
  .argument(...WORKSPACE)
  .option("--yes", "do not ask")
  .option(...JSON_OPTION)
  .action(deleteWorkspaceCommand);

const key = program.command("key").description("keys of workspaces");
key
  .command("list")
  .description("list a workspace's keys, newest first")
  .argument(...WORKSPACE)
  .option(...JSON_OPTION)
  .action(listKeysCommand);
key
  .command("create")
  .description("make a key, which is shown this once")
  .argument(...WORKSPACE)
  .requiredOption("--name <name>", "what the key is for")
  .option("--role <role>", "admin, write or read", "write")
  .option("--expires-at <moment>", "RFC 3339 date and time")
  .option(...JSON_OPTION)
  .action(createKeyCommand);
key
  .command("revoke")
  .description("refuse a key from now on")
  .argument(...WORKSPACE)
  .argument("<key>", "id of the key: key_…")
  .option(...JSON_OPTION)
  .action(revokeKeyCommand);

program
  .command("schedule")
  .description("schedules of workspaces")
  .command("list")
  .description("list a workspace's schedules, newest first, with their next runs in local time and in each one's time zone")
  .argument(...WORKSPACE)
  .option("--next <number>", "how many next runs to show of each, 1 to 10", oneToTen, 1)
  .option("--queue <name>", "those of one queue")
  .option("--paused", "those that are paused")
  .option(...JSON_OPTION)
  .action(listSchedulesCommand);

const approval = program.command("approval").description("jobs that wait to be approved");
approval
  .command("list")
  .description("list a workspace's jobs that wait to be approved or rejected, newest first")
  .argument(...WORKSPACE)
  .option("--queue <name>", "those of one queue")
  .option(...JSON_OPTION)
  .action(listApprovalsCommand);
const ofJob = (command: Command): Command =>
  command
    .argument(...WORKSPACE)
    .argument("<queue>", "name of the job's queue")
    .argument("<job>", "id of the job: job_…")
    .option("--by <who>", "who decides, for the record")
    .option(...JSON_OPTION);
ofJob(approval.command("approve").description("let a job start")).option("--comment <text>", "what to say about it").action(approveCommand);
ofJob(approval.command("reject").description("end a job that has not started")).option("--reason <text>", "why").action(rejectCommand);

program
  .command("explain")
  .description("say why a job is not running, and when it will")
  .argument(...WORKSPACE)
  .argument("<queue>", "name of the job's queue")
  .argument("<job>", "id of the job: job_…")
  .option(...JSON_OPTION)
  .action(explainCommand);

const vault = program.command("vault").description("the master key of the secrets vault");
vault
  .command("status")
  .description("show which master keys secrets are wrapped by, and which are given here")
  .option(...JSON_OPTION)
  .action(showVaultCommand);
vault
  .command("rotate-master-key")
  .description("wrap all secrets by another master key, beside running nodes")
  .option(...JSON_OPTION)
  .action(rotateMasterKeyCommand);

program
  .command("audit")
  .description("audit logs of workspaces")
  .command("verify")
  .description("check that nothing in them was altered, added or taken away")
  .argument("[workspace]", "id of the workspace: ws_…; all when left out")
  .option("--json", "as JSON, with the head of each chain")
  .option("--noted <file>", "what an earlier --json printed: the chains must go on from those heads")
  .action(verifyAuditCommand);

await program.parseAsync().catch(fail);
