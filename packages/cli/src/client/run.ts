import type { Tidemill } from "@tidemill/sdk";
import type { Command } from "commander";
import { printFields, printJson, printTable, writeLine } from "../output/table.ts";
import { onService } from "./command.ts";
import { readSeconds } from "./timeout.ts";
import { watchRun } from "./watch-run.ts";

type Run = Awaited<ReturnType<Tidemill["runs"]["get"]>>;

const STEP_COLUMNS = ["step", "type", "status", "attempt", "started_at", "ended_at", "detail"];

export function addRunCommands(program: Command): void {
  const run = program.command("run").description("Runs of workflows");
  onService(
    run.command("get").description("Show a run with its steps, and what these wait for").argument("<run>", "Id of the run, run_…"),
    async (tidemill, { args: [id = ""], options }) => {
      const found = await tidemill.runs.get(id);
      if (options.json) return printJson(found);
      const { steps, waitingFor, ...record } = found;
      printFields(record, false);
      if (steps.length === 0) return;
      writeLine("");
      printTable(
        steps.map((step) => stepRow(step, waitingFor)),
        STEP_COLUMNS,
      );
    },
  );

  onService(
    run
      .command("retry")
      .description("Let a failed or cancelled run go on from its journal, with fresh attempts")
      .argument("<run>", "Id of the run, run_…"),
    async (tidemill, { args: [id = ""], options }) => printFields(await tidemill.runs.retry(id), options.json),
  );
  onService<{ timeout?: number }>(
    run
      .command("watch")
      .description("Print what happens to a run until it has ended. The exit code is 0 when it completes, else 8")
      .argument("<run>", "Id of the run, run_…")
      .option("--timeout <seconds>", "Stop after so long, with exit code 8", readSeconds),
    (tidemill, { args: [id = ""], options }) => watchRun(tidemill, id, options),
  );
}

/** A step, with what it waits for, or why it failed. */
function stepRow({ key, type, status, attempt, startedAt, endedAt, error }: Run["steps"][number], waitingFor: Run["waitingFor"]) {
  const waits = status === "waiting" ? describe(waitingFor.find(({ step }) => step === key)) : error?.message;
  return { step: key, type, status, attempt, started_at: startedAt, ended_at: endedAt, detail: waits };
}

/** What a step waits for, on one line. */
function describe(waiting: Run["waitingFor"][number] | undefined): string | undefined {
  if (waiting?.type === "sleep") return waiting.until;
  if (waiting?.type === "signal") return `${waiting.signal}${waiting.timeoutAt === undefined ? "" : ` until ${waiting.timeoutAt}`}`;
  if (waiting?.method === undefined) return undefined;
  const { method, url, attempt, attempts, nextAttemptAt, lastError } = waiting;
  const next = nextAttemptAt ? `, next at ${nextAttemptAt}` : "";
  return `${method} ${url} (${attempt} of ${attempts} attempts${next})${lastError ? `: ${lastError.message}` : ""}`;
}
