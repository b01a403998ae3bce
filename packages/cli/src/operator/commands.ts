import { type Command, InvalidArgumentError } from "commander";
import { lazily } from "../lazily.ts";

const WORKSPACE = ["<workspace>", "Id of the workspace: ws_…"] as const;
const JSON_OPTION = ["--json", "Print JSON"] as const;

/** Commands that start a node or show how it is configured. */
export function addNodeCommands(program: Command): void {
  program
    .command("up")
    .description("Run a node until Ctrl-C or SIGTERM")
    .action(
      lazily(
        () => import("./up.ts"),
        ({ up }) => up,
      ),
    );
  program
    .command("config")
    .description("List all settings with their values")
    .option(...JSON_OPTION)
    .action(
      lazily(
        () => import("./config.ts"),
        ({ showConfig }) => showConfig,
      ),
    );
}

/** `doctor`. */
export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description(
      "Check what a node needs here: database version, settings and privileges, clock, disk, ports, file limit, master key. The exit code is 1 when a check fails",
    )
    .option(...JSON_OPTION)
    .action(
      lazily(
        () => import("../doctor/doctor.ts"),
        ({ doctor }) => doctor,
      ),
    );
}

/** Commands that work on the database of a service. */
export function addDatabaseCommands(program: Command): void {
  addWorkspaceCommands(program.command("workspace").description("Manage workspaces, one per tenant"));
  addPeopleCommands(program.command("people").description("Manage the people who sign in to the dashboard"));
  addNodeListCommand(program.command("node").description("Nodes of the service"));
  addVaultCommands(program.command("vault").description("Manage the master key of the secrets vault"));
}

const loadWorkspace = () => import("./workspace.ts");
const loadPeople = () => import("./people.ts");
const loadVault = () => import("./vault.ts");

/** Options for the limits of a plan. Source: contract §2. */
const withLimits = (command: Command): Command =>
  command
    .option("--executions <number>", 'Executions per calendar month (UTC), or "none" for no limit', numberOrNone)
    .option("--requests-per-minute <number>", 'API requests per minute, or "none" for no limit', numberOrNone)
    .option("--retention-days <number>", 'Days to keep finished jobs and audit events, or "none" to keep them forever', numberOrNone);

function numberOrNone(text: string): number | "none" {
  if (text === "none") return text;
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Expected a whole number or "none".');
  return Number(text);
}

function addNodeListCommand(node: Command): void {
  node
    .command("list")
    .description("List running nodes, and nodes that ended within the last hour, newest first")
    .option(...JSON_OPTION)
    .action(
      lazily(
        () => import("./node.ts"),
        ({ listNodesCommand }) => listNodesCommand,
      ),
    );
}

function addWorkspaceCommands(workspace: Command): void {
  workspace
    .command("list")
    .description("List all workspaces, newest first")
    .option(...JSON_OPTION)
    .action(lazily(loadWorkspace, ({ listWorkspacesCommand }) => listWorkspacesCommand));
  withLimits(workspace.command("create").description("Create a workspace and its first key, which is only shown this once"))
    .argument("<name>", "Name of the workspace, 1 to 128 characters")
    .option("--plan <plan>", "Plan: free, pro, team or enterprise. It sets the limits that no option sets", "free")
    .option(...JSON_OPTION)
    .action(lazily(loadWorkspace, ({ createWorkspaceCommand }) => createWorkspaceCommand));
  withLimits(workspace.command("update").description("Change a workspace's name, plan or limits"))
    .argument(...WORKSPACE)
    .option("--name <name>", "New name, 1 to 128 characters")
    .option("--plan <plan>", "New plan: free, pro, team or enterprise. It resets the limits that no option sets")
    .option(...JSON_OPTION)
    .action(lazily(loadWorkspace, ({ updateWorkspaceCommand }) => updateWorkspaceCommand));
  workspace
    .command("delete")
    .description("Delete a workspace with its queues, jobs and keys. This cannot be undone")
    .argument(...WORKSPACE)
    .option("--yes", "Do not ask for confirmation")
    .option(...JSON_OPTION)
    .action(lazily(loadWorkspace, ({ deleteWorkspaceCommand }) => deleteWorkspaceCommand));
}

const EMAIL = ["<email>", "Mail address of the person"] as const;

function addPeopleCommands(people: Command): void {
  people
    .command("list")
    .description("List all people, the newest first")
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ listPeopleCommand }) => listPeopleCommand));
  people
    .command("add")
    .description("Add a person, who sets a password with the printed link, or add an existing person to a workspace")
    .argument(...EMAIL)
    .option("--name <name>", "Name of a new person. Without it, the mail address")
    .option("--workspace <workspace>", "Workspace to add them to: ws_…")
    .option("--role <role>", "Their role in the workspace: admin, write or read", "read")
    .option("--operator", "Make them an operator")
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ addPersonCommand }) => addPersonCommand));
  people
    .command("reset")
    .description("Remove every way in which a person signs in, end their sessions, and print a link to set a password")
    .argument(...EMAIL)
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ resetPersonCommand }) => resetPersonCommand));
  people
    .command("operator")
    .description("Make a person an operator, who manages all workspaces")
    .argument(...EMAIL)
    .option("--off", "Take the operator right away")
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ changeOperatorCommand }) => changeOperatorCommand));
  people
    .command("remove")
    .description("Remove a person, with their sessions and memberships")
    .argument(...EMAIL)
    .option("--force", "Remove the person even if they are the last admin of a workspace")
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ removePersonCommand }) => removePersonCommand));
  people
    .command("log")
    .description("Show what happened to a person's account: sign-ins, and changes to how they sign in")
    .argument(...EMAIL)
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ logPersonCommand }) => logPersonCommand));
  people
    .command("setup-link")
    .description("Create a link that makes the first person who opens it an operator. It can be used once, within 72 hours")
    .option(...JSON_OPTION)
    .action(lazily(loadPeople, ({ makeSetupLinkCommand }) => makeSetupLinkCommand));
}

function addVaultCommands(vault: Command): void {
  vault
    .command("status")
    .description("List the master keys that wrap secrets, and which of them this configuration has")
    .option(...JSON_OPTION)
    .action(lazily(loadVault, ({ showVaultCommand }) => showVaultCommand));
  vault
    .command("rotate-master-key")
    .description("Rewrap all secrets with another master key, while nodes keep running")
    .option(...JSON_OPTION)
    .action(lazily(loadVault, ({ rotateMasterKeyCommand }) => rotateMasterKeyCommand));
  vault
    .command("give-up")
    .description("Let nodes start again without a master key that is lost. Its secrets cannot be used until they get new values")
    .argument("<master-key>", "Id of the lost key, which the failed start named")
    .option(...JSON_OPTION)
    .action(lazily(loadVault, ({ giveUpKeyCommand }) => giveUpKeyCommand));
}

/** `audit verify`, beside `audit list`. */
export function addAuditVerify(audit: Command): void {
  audit
    .command("verify")
    .description("For operators: check that no audit event was altered, added or removed. The exit code is 1 when a log is broken")
    .argument("[workspace]", "Id of the workspace: ws_…. Without it, all workspaces are checked")
    .option("--json", "Print JSON, with the head of each chain")
    .option("--noted <file>", "File with the output of an earlier run with --json. The chains must continue from its heads")
    .action(
      lazily(
        () => import("./audit.ts"),
        ({ verifyAuditCommand }) => verifyAuditCommand,
      ),
    );
}
