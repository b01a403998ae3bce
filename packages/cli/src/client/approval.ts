import { ApproveJob, ListApprovals, RejectJob } from "@tidemill/contract";
import type { Command } from "commander";
import type { ListOptions } from "../output/print-pages.ts";
import { printFields } from "../output/table.ts";
import { runOnService, withConnection } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { addressOf, type JobAddress } from "./job-address.ts";
import { printList, withLimit } from "./listing.ts";

const COLUMNS = ["id", "queue", "tag", "priority", "run_at", "created_at"];
const PAGING = ["limit", "cursor"];

/** Operators decide on jobs of any workspace, in the database. For that, the workspace is the first argument. */
export function addApprovalCommands(program: Command): void {
  const approval = program.command("approval").description("Decide on jobs of approval queues");

  const list = withConnection(
    addFields(
      withLimit(
        approval
          .command("list")
          .description("List jobs that wait for a decision, newest first")
          .argument("[workspace]", "For operators: id of the workspace, ws_…, to read it from the database"),
      ),
      ListApprovals,
      PAGING,
    ),
  );
  list.action(async (workspace: string | undefined, options: ListOptions & { queue?: string; tag?: string }) => {
    if (workspace !== undefined) return (await import("../operator/approval.ts")).listApprovalsCommand(workspace, options);
    await runOnService<ListOptions>(list, (tidemill, invocation) => {
      const filter = readFields<ListApprovals>(ListApprovals, options, PAGING);
      return printList((limit) => tidemill.approvals.list({ ...filter, limit }), COLUMNS, invocation.options);
    });
  });

  const approve = withDecided(approval.command("approve").description("Approve a job, so that it can start"), ApproveJob);
  approve.action(async (named: string[], options: object) => {
    if (named.length === 3) return (await import("../operator/approval.ts")).approveCommand(...toThree(named), options);
    await decide(approve, (tidemill, { queue, id }) => tidemill.queue(queue).jobs.approve(id, readFields<ApproveJob>(ApproveJob, options)));
  });

  const reject = withDecided(approval.command("reject").description("Reject a job, which then never starts"), RejectJob);
  reject.action(async (named: string[], options: object) => {
    if (named.length === 3) return (await import("../operator/approval.ts")).rejectCommand(...toThree(named), options);
    await decide(reject, (tidemill, { queue, id }) => tidemill.queue(queue).jobs.reject(id, readFields<RejectJob>(RejectJob, options)));
  });
}

type Decide = (tidemill: Parameters<Parameters<typeof runOnService>[1]>[0], address: JobAddress) => Promise<object>;

const decide = (command: Command, run: Decide): Promise<void> =>
  runOnService(command, async (tidemill, { args, options }) =>
    printFields(await run(tidemill, await addressOf(tidemill, args)), options.json),
  );

const withDecided = (command: Command, schema: typeof ApproveJob | typeof RejectJob): Command =>
  withConnection(addFields(withJobOfWorkspace(command), schema));

/** Adds the arguments of commands that operators use too, with the workspace before the queue. */
export const withJobOfWorkspace = (command: Command): Command =>
  command
    .argument("<job...>", "Id of the job, job_…. The name of its queue may come before it. For operators: workspace, queue and job")
    .usage("[options] [[workspace] queue] <job>");

export const toThree = (named: readonly string[]): [string, string, string] => [named[0] ?? "", named[1] ?? "", named[2] ?? ""];
