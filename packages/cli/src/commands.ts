import { VERSION } from "@tidemill/server";
import { Command, InvalidArgumentError } from "commander";
import { approveCommand, listApprovalsCommand, rejectCommand } from "./approval.ts";
import { verifyAuditCommand } from "./audit.ts";
import { showConfig } from "./config.ts";
import { exitWithError } from "./exit-with-error.ts";
import { explainCommand } from "./explain.ts";
import { createKeyCommand, listKeysCommand, revokeKeyCommand } from "./key.ts";
import { listSchedulesCommand } from "./schedule.ts";
import { up } from "./up.ts";
import { rotateMasterKeyCommand, showVaultCommand } from "./vault.ts";
import { createWorkspaceCommand, deleteWorkspaceCommand, listWorkspacesCommand, updateWorkspaceCommand } from "./workspace.ts";

// The reader of our output may go away first ("| head", a closed terminal). The command still finishes its work.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const program = new Command("tidemill")
  .description("A job queue service that delivers jobs as signed HTTP callbacks.")
  .version(VERSION, "-V, --version", "Print the version")
  .helpOption("-h, --help", "Print help for the command")
  .helpCommand("help [command]", "Print help for a command");

program.command("up").description("Run a node until Ctrl-C or SIGTERM").action(up);
program.command("config").description("List all settings with their values").option("--json", "Print JSON").action(showConfig);

/** Options for the limits of a plan. Source: contract §2. */
const withLimits = (command: Command): Command =>
  command
    .option("--executions <number>", 'Executions per calendar month (UTC), or "none" for no limit', numberOrNone)
    .option("--requests-per-minute <number>", 'API requests per minute, or "none" for no limit', numberOrNone)
    .option("--retention-days <number>", 'Days to keep finished jobs and audit events, or "none" to keep them forever', numberOrNone);

function numberOrNone(text: string): number | "none" {
  if (text === "none") return text;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It takes a whole number or "none".');
  return Number(text);
}

function oneToTen(text: string): number {
  if (!/^([1-9]|10)$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 1 to 10.");
  return Number(text);
}

const WORKSPACE = ["<workspace>", "Id of the workspace: ws_…"] as const;
const QUEUE = ["<queue>", "Name of the job's queue"] as const;
const JOB = ["<job>", "Id of the job: job_…"] as const;
const QUEUE_OPTION = ["--queue <name>", "Only those of this queue"] as const;
const JSON_OPTION = ["--json", "Print JSON"] as const;

const workspace = program.command("workspace").description("Manage workspaces, one per tenant");
workspace
  .command("list")
  .description("List all workspaces, newest first")
  .option(...JSON_OPTION)
  .action(listWorkspacesCommand);
withLimits(workspace.command("create").description("Create a workspace and its first key, which is only shown this once"))
  .argument("<name>", "Name of the workspace, 1 to 128 characters")
  .option("--plan <plan>", "Plan: free, pro, team or enterprise. It sets the limits that no option sets", "free")
  .option(...JSON_OPTION)
  .action(createWorkspaceCommand);
withLimits(workspace.command("update").description("Change a workspace's name, plan or limits"))
  .argument(...WORKSPACE)
  .option("--name <name>", "New name, 1 to 128 characters")
  .option("--plan <plan>", "New plan: free, pro, team or enterprise. It resets the limits that no option sets")
  .option(...JSON_OPTION)
  .action(updateWorkspaceCommand);
workspace
  .command("delete")
  .description("Delete a workspace with its queues, jobs and keys. This cannot be undone")
  .argument(...WORKSPACE)
  .option("--yes", "Do not ask for confirmation")
  .option(...JSON_OPTION)
  .action(deleteWorkspaceCommand);

const key = program.command("key").description("Manage the API keys of workspaces");
key
  .command("list")
  .description("List a workspace's keys, newest first")
  .argument(...WORKSPACE)
  .option(...JSON_OPTION)
  .action(listKeysCommand);
key
  .command("create")
  .description("Create a key, which is only shown this once")
  .argument(...WORKSPACE)
  .requiredOption("--name <name>", "What the key is for, 1 to 128 characters (required)")
  .option("--role <role>", "Role: admin, write or read. Each includes those after it", "write")
  .option("--expires-at <moment>", 'When the key expires, like "2030-01-31T12:00:00Z" (RFC 3339). Without it the key never expires')
  .option(...JSON_OPTION)
  .action(createKeyCommand);
key
  .command("revoke")
  .description("Revoke a key. Requests with it are refused from now on")
  .argument(...WORKSPACE)
  .argument("<key>", "Id of the key: key_…")
  .option(...JSON_OPTION)
  .action(revokeKeyCommand);

program
  .command("schedule")
  .description("Inspect the schedules of workspaces")
  .command("list")
  .description("List a workspace's schedules, newest first, with their next runs in local time and in the schedule's time zone")
  .argument(...WORKSPACE)
  .option("--next <number>", "Number of next runs to show for each schedule, 1 to 10", oneToTen, 1)
  .option(...QUEUE_OPTION)
  .option("--paused", "Only those that are paused")
  .option(...JSON_OPTION)
  .action(listSchedulesCommand);

const approval = program.command("approval").description("Decide on jobs of approval queues");
approval
  .command("list")
  .description("List a workspace's jobs that wait for a decision, newest first")
  .argument(...WORKSPACE)
  .option(...QUEUE_OPTION)
  .option(...JSON_OPTION)
  .action(listApprovalsCommand);
const ofJob = (command: Command): Command =>
  command
    .argument(...WORKSPACE)
    .argument(...QUEUE)
    .argument(...JOB)
    .option("--by <name>", "Who decides, up to 256 characters. It is stored with the decision")
    .option(...JSON_OPTION);
ofJob(approval.command("approve").description("Approve a job, so that it can start"))
  .option("--comment <text>", "Remark on the decision, up to 4096 characters")
  .action(approveCommand);
ofJob(approval.command("reject").description("Reject a job, which then never starts"))
  .option("--reason <text>", "Why the job is rejected, up to 4096 characters")
  .action(rejectCommand);

program
  .command("explain")
  .description("Explain why a job is not running, and estimate when it will start")
  .argument(...WORKSPACE)
  .argument(...QUEUE)
  .argument(...JOB)
  .option(...JSON_OPTION)
  .action(explainCommand);

const vault = program.command("vault").description("Manage the master key of the secrets vault");
vault
  .command("status")
  .description("List the master keys that wrap secrets, and which of them this configuration has")
  .option(...JSON_OPTION)
  .action(showVaultCommand);
vault
  .command("rotate-master-key")
  .description("Rewrap all secrets with another master key, while nodes keep running")
  .option(...JSON_OPTION)
  .action(rotateMasterKeyCommand);

program
  .command("audit")
  .description("Verify the audit logs of workspaces")
  .command("verify")
  .description("Check that no audit event was altered, added or removed. The exit code is 1 when a log is broken")
  .argument("[workspace]", "Id of the workspace: ws_…. Without it, all workspaces are checked")
  .option("--json", "Print JSON, with the head of each chain")
  .option("--noted <file>", "Output of an earlier --json. The chains must continue from the heads in it")
  .action(verifyAuditCommand);

await program.parseAsync().catch(exitWithError);
