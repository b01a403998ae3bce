import { Command } from "commander";
import { addApprovalCommands } from "./client/approval.ts";
import { addDeadLetterCommands } from "./client/dead-letter.ts";
import { addEnqueueCommand } from "./client/enqueue.ts";
import { addEventCommands } from "./client/event.ts";
import { addExplainCommand } from "./client/explain.ts";
import { addInvitationCommands } from "./client/invitation.ts";
import { addJobCommands } from "./client/job.ts";
import { addKeyCommands } from "./client/key.ts";
import { addLiveCommands } from "./client/live.ts";
import { addMemberCommands } from "./client/member.ts";
import { addOperationCommands } from "./client/operation.ts";
import { addQueueCommands } from "./client/queue.ts";
import { addRunCommands } from "./client/run.ts";
import { addScheduleCommands } from "./client/schedule.ts";
import { addSecretCommands } from "./client/secret.ts";
import { addSignalCommands } from "./client/signal.ts";
import { addWebhookCommands } from "./client/webhook.ts";
import { addWorkflowCommands } from "./client/workflow.ts";
import { addAuditList, addWorkspaceViews } from "./client/workspace-views.ts";
import { addCompletion } from "./completion.ts";
import { addAuditVerify, addDatabaseCommands, addDoctorCommand, addNodeCommands } from "./operator/commands.ts";
import { usageError } from "./output/usage-error.ts";
import { addProfileCommands } from "./profile/commands.ts";
import { VERSION } from "./version.ts";

/** All commands with their arguments and options. Nothing runs until it is parsed. */
export function createProgram(): Command {
  const program = new Command("tidemill")
    .description("A job queue service that delivers jobs as signed HTTP callbacks.")
    .version(VERSION, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Print help for the command")
    .helpCommand("help [command]", "Print help for a command")
    .configureOutput({ outputError: (text, write) => write(usageError(text)) });

  program.commandsGroup("Use a service, with its URL and a key:");
  addProfileCommands(program);
  addEnqueueCommand(program);
  addQueueCommands(program);
  addJobCommands(program);
  addExplainCommand(program);
  addDeadLetterCommands(program);
  addOperationCommands(program);
  addScheduleCommands(program);
  addWorkflowCommands(program);
  addRunCommands(program);
  addEventCommands(program);
  addSignalCommands(program);
  addSecretCommands(program);
  addWebhookCommands(program);
  addApprovalCommands(program);
  addLiveCommands(program);
  addWorkspaceViews(program);
  addKeyCommands(program);
  addMemberCommands(program);
  addInvitationCommands(program);
  const audit = program.command("audit").description("The audit log of the workspace");
  addAuditList(audit);
  addAuditVerify(audit);

  program.commandsGroup("Run a service, on its database:");
  addNodeCommands(program);
  addDoctorCommand(program);
  addDatabaseCommands(program);

  program.commandsGroup("Other commands:");
  addCompletion(program);
  return program;
}
