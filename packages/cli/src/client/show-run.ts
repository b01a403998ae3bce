import type { Tidemill } from "@tidemill/sdk";
import { printFields, printJson, printTable, showCell, writeLine } from "../output/table.ts";

type Run = Awaited<ReturnType<Tidemill["runs"]["get"]>>;
type Step = Run["steps"][number];
type Waiting = Run["waitingFor"][number];

const STEP_COLUMNS = ["step", "type", "status", "attempt", "started_at", "ended_at", "detail"];
/** Characters of an output in the table. `--json` shows all. */
const MAX_OUTPUT = 100;

export const errorText = ({ name, message }: { readonly name: string; readonly message: string }): string =>
  name === "Error" ? message : `${name}: ${message}`;

/** Prints a run, its journal as a table, and what can be done next. */
export function printRun(run: Run, json: boolean | undefined): void {
  if (json) {
    printJson(run);
    return;
  }
  const { steps, waitingFor, hookErrors, error, ...record } = run;
  printFields({ ...record, error: error && errorText(error) }, false);
  if (steps.length > 0) {
    writeLine("");
    printTable(
      steps.map((step) => stepRow(step, waitingFor)),
      STEP_COLUMNS,
    );
  }
  if (hookErrors.length > 0) {
    writeLine("");
    printTable(
      hookErrors.map(({ occurredAt, ...one }) => ({ ...one, occurred_at: occurredAt })),
      ["hook", "occurred_at", "message"],
    );
  }
  const next = nextOf(run);
  if (next.length > 0) writeLine("");
  for (const line of next) writeLine(line);
}

/** A step, with its result, what it waits for, or why it failed. */
function stepRow(step: Step, waitingFor: Run["waitingFor"]) {
  const { key, type, status, attempt, startedAt, endedAt } = step;
  return { step: key, type, status, attempt, started_at: startedAt, ended_at: endedAt, detail: detailOf(step, waitingFor) };
}

function detailOf({ key, status, output, error }: Step, waitingFor: Run["waitingFor"]): string | undefined {
  if (status === "waiting") return describe(waitingFor.find(({ step }) => step === key));
  if (error !== null) return errorText(error);
  const text = typeof output === "string" ? JSON.stringify(output) : showCell(output);
  return text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT)}…` : text;
}

/** What a step waits for, on one line. */
function describe(waiting: Waiting | undefined): string | undefined {
  if (waiting === undefined) return undefined;
  const { type, until, signal, runId, timeoutAt, method, url, attempt, attempts, nextAttemptAt, lastError } = waiting;
  const timeout = timeoutAt === undefined ? "" : ` until ${timeoutAt}`;
  switch (type) {
    case "sleep":
      return until;
    case "signal":
      return `${signal}${timeout}`;
    case "invoke":
      return `${runId ?? "a run"}${timeout}`;
    case "http": {
      // It already has its outcome: the run continues.
      if (method === undefined) return undefined;
      const next = nextAttemptAt ? `, next at ${nextAttemptAt}` : "";
      return `${method} ${url} (${attempt} of ${attempts} attempts${next})${lastError ? `: ${lastError.message}` : ""}`;
    }
  }
}

/** What a person can do next, or what happens without them. */
function nextOf(run: Run): string[] {
  const { runId, status, attempt, attempts, waitingFor, nextAttemptAt, steps } = run;
  const kept = waitingFor.find(({ type }) => type === "worker");
  if (kept) return [`It is due, and kept for a worker of version ${kept.version}.`];
  switch (status) {
    case "pending":
      return [`To see why it has not started: tidemill run explain ${runId}`];
    case "running":
      return nextAttemptAt === null
        ? []
        : [`Attempt ${attempt} of ${attempts} starts at ${nextAttemptAt}. "tidemill run cancel ${runId}" cancels the run.`];
    case "sleeping": {
      const [first] = waitingFor.flatMap(({ until }) => until ?? []).sort();
      return first === undefined ? [] : [`It continues at ${first}.`];
    }
    case "waiting":
      return waitingFor.flatMap(({ type, signal, runId: child, codeVersion, reason, retryAt }) => [
        ...(type === "code" ? otherCode(runId, codeVersion ?? null, reason ?? "", retryAt) : []),
        ...(signal === undefined ? [] : [`To continue it: tidemill signal complete ${quoted(signal)} '<payload>'`]),
        ...(child === undefined ? [] : [`The run that it waits for: tidemill run get ${child}`]),
      ]);
    case "failed":
      if (isUndone(steps)) return undone(waitingFor);
      return [`When the cause is fixed: tidemill run retry ${runId}. The run continues from its journal.`];
    case "cancelled":
      if (isUndone(steps)) return undone(waitingFor);
      return [`To continue it from its journal: tidemill run retry ${runId}`];
    case "completed":
      return [];
  }
}

const otherCode = (runId: string, version: string | null, reason: string, retryAt: string | undefined): string[] => [
  `The journal does not fit the code${version === null ? "" : ` of version ${version}`}: ${reason}`,
  `${retryAt === undefined ? "It continues with a worker of another version." : `It is tried again at ${retryAt}.`} To try it again immediately: tidemill run retry ${runId}`,
];

function undone(waitingFor: Run["waitingFor"]): string[] {
  const pending = waitingFor.find(({ type }) => type === "undo");
  if (!pending) return ["The steps of the run are undone, so it cannot continue. Start another run."];
  const { lastError, nextAttemptAt } = pending;
  const failed = lastError ? ` The last try failed: ${lastError.message}` : "";
  return [
    `Its steps are still to be undone${nextAttemptAt ? `, next at ${nextAttemptAt}` : ""}.${failed}`,
    "The run cannot continue. Start another run.",
  ];
}

/** Whether steps of a run that has failed or was cancelled are undone, or will be. */
const isUndone = (steps: Run["steps"]): boolean =>
  steps.some(({ type, status, undoable }) => type === "undo" || (undoable && status === "completed"));

/** Quoted for a shell. */
const quoted = (text: string): string => (/^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
