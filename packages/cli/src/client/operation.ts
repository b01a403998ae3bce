import { setTimeout as sleep } from "node:timers/promises";
import { JobFilter, type Operation, type OperationAction, type StartOperation } from "@tidemill/contract";
import { type Tidemill, TidemillError } from "@tidemill/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { Interrupts } from "../bulk/interrupts.ts";
import { InterruptedError } from "../exit-code.ts";
import { showCount, showProgress } from "../output/progress.ts";
import { printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const COLUMNS = ["id", "action", "state", "matched", "done", "skipped", "created_at", "finished_at"];
const LOOK_EVERY_MS = 500;

const MANY: Record<OperationAction, string> = {
  retry: "Retry many failed, cancelled or rejected jobs",
  cancel: "Cancel many jobs that have not finished",
  remove: "Remove many jobs that have finished",
};

interface ManyOptions {
  readonly yes?: boolean;
  readonly ids?: string[];
  readonly wait: boolean;
}

/** `tidemill job retry-many`, `cancel-many` and `remove-many`. */
export function addManyCommands(job: Command): void {
  for (const action of ["retry", "cancel", "remove"] as const) {
    const command = job.command(`${action}-many`).description(`${MANY[action]}: those that match every filter, or those of --ids`);
    onService<ManyOptions>(
      addFields(command, JobFilter)
        .option("--ids <a,b>", "Ids of jobs instead of filters", readIds)
        .option("--no-wait", "Print the operation when it has started, without waiting for its end")
        .option(...YES),
      async (tidemill, { options }) => {
        const filter = readFields<JobFilter>(JobFilter, options);
        if (options.ids && Object.keys(filter).length > 0) throw new Error("Give either --ids or filters.");
        const which: StartOperation = options.ids ? { ids: options.ids } : { filter };
        await confirm(tidemill, action, which, options);
        const operation = await tidemill.jobs[action](which);
        printRecord(options.wait ? await untilEnded(tidemill, operation) : operation, options.json);
      },
    );
  }
}

export function addOperationCommands(program: Command): void {
  const operation = program.command("operation").description("Changes of many jobs, which nodes execute in the background");
  onService<{ limit: number }>(withLimit(operation.command("list").description("List operations, newest first")), (tidemill, { options }) =>
    printList((limit) => tidemill.operations.list({ limit }), COLUMNS, options),
  );
  onService(
    operation.command("get").description("Show an operation, and how far it is").argument("<id>", "Id of the operation, op_…"),
    async (tidemill, { args: [id = ""], options }) => printRecord(await tidemill.operations.get(id), options.json),
  );
  onService(
    operation
      .command("cancel")
      .description("Stop an operation. Jobs that it has changed stay changed")
      .argument("<id>", "Id of the operation, op_…"),
    async (tidemill, { args: [id = ""], options }) => printRecord(await tidemill.operations.cancel(id), options.json),
  );
}

async function confirm(
  tidemill: Tidemill,
  action: OperationAction,
  { filter, ids }: StartOperation,
  options: { yes?: boolean },
): Promise<void> {
  if (options.yes) return;
  const count = ids ? { count: ids.length, exact: true } : await tidemill.jobs.count(filter);
  const jobs = `${count.exact ? "" : "at least "}${count.count} ${count.count === 1 ? "job" : "jobs"}`;
  const note = ids ? "" : `, if their state allows it`;
  await askFirst(`${action[0]?.toUpperCase()}${action.slice(1)} ${jobs}${note}?`, options);
}

/** Waits until the operation has ended. Ctrl-C ends the wait, but not the operation. */
async function untilEnded(tidemill: Tidemill, started: Operation): Promise<Operation> {
  const interrupts = new Interrupts();
  try {
    return await showUntilEnded(tidemill, started, interrupts.first);
  } catch (error) {
    throw explained(error, started);
  } finally {
    interrupts.close();
  }
}

/** In a terminal, draws how far the operation is, until it has ended or the wait is interrupted. */
async function showUntilEnded(tidemill: Tidemill, started: Operation, signal: AbortSignal): Promise<Operation> {
  const progress = showProgress(started.matched_exact ? started.matched : null);
  let operation = started;
  try {
    while (operation.state === "running") {
      // The request rejects with the reason of the signal.
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      operation = await tidemill.operations.get(started.id, { signal });
      progress.update(operation.done + operation.skipped, `${showCount(operation.done)} done`);
    }
    return operation;
  } finally {
    progress.end();
  }
}

/** Says where to see the operation if it continues, and returns the error that ends the command. */
function explained(error: unknown, { id }: Operation): unknown {
  const goesOn = `The service continues: "tidemill operation get ${id}" shows how far it is.`;
  if (error instanceof InterruptedError) return new InterruptedError(`Stopped waiting. ${goesOn}`);
  if (error instanceof TidemillError && (error.status === null || error.status >= 500)) process.stderr.write(`tidemill: ${goesOn}\n`);
  return error;
}

function readIds(text: string): string[] {
  const ids = text.split(",");
  if (ids.some((id) => !id.startsWith("job_"))) throw new InvalidArgumentError("Expected ids of jobs, separated by commas.");
  return ids;
}
