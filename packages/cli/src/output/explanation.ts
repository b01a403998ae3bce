import type { Explanation, RunExplanation } from "@tidemill/contract";
import { printJson, printTable, writeLine } from "./table.ts";

/**
 * Prints a summary, the gates, and the commands that help.
 *
 * @param workspace whose job an operator explains from the database
 */
export function printExplanation(explanation: Explanation, json: boolean | undefined, workspace?: string): void {
  const { state, ahead, ahead_is_more: isMore, estimated_start: start } = explanation;
  print(explanation, { state }, { ahead, isMore, start }, nextOf(explanation, workspace), json);
}

/** Prints why a run is not being executed, like `printExplanation`. */
export function printRunExplanation(explanation: RunExplanation, json: boolean | undefined): void {
  const { status, ahead, aheadIsMore: isMore, estimatedStart: start } = explanation;
  print(explanation, { status }, { ahead, isMore, start }, nextOfRun(explanation), json);
}

const START_A_NODE = "To start a node: tidemill up";

/** What a person can do about a job. For an operator, commands without one on the database say that they need a key. */
function nextOf({ id, queue, state, gates }: Explanation, workspace: string | undefined): string[] {
  const withKey = workspace === undefined ? "" : ` (with a key of ${workspace})`;
  if (state === "failed" || state === "cancelled" || state === "rejected") return [`To run it again: tidemill job retry ${id}${withKey}`];
  const address = workspace === undefined ? id : `${workspace} ${queue} ${id}`;
  return gates.flatMap((one): string[] => {
    if (!one.holds) return [];
    switch (one.gate) {
      case "nodes":
        return [START_A_NODE];
      case "approval":
        return [`To decide: tidemill approval approve ${address} (or reject)`];
      case "queue_paused":
        return [`To resume the queue: tidemill queue resume ${queue}${withKey}`];
      case "key_concurrency":
      case "queue_concurrency":
        return one.figures.oldest_job === null
          ? []
          : [`To see the job that has run longest: tidemill job get ${one.figures.oldest_job}${withKey}`];
      default:
        return [];
    }
  });
}

/** What a person can do about a run. */
function nextOfRun({ runId, status, gates }: RunExplanation): string[] {
  if (status === "failed" || status === "cancelled") return [`To continue it from its journal: tidemill run retry ${runId}`];
  return gates.flatMap((one): string[] => {
    if (!one.holds) return [];
    if (one.gate === "nodes") return [START_A_NODE];
    const oldest = one.gate === "concurrency" ? one.figures.oldestRunId : null;
    return oldest === null ? [] : [`To see the run that has been executed longest: tidemill run get ${oldest}`];
  });
}

interface Place {
  readonly ahead: number | null;
  readonly isMore: boolean;
  readonly start: string | null;
}

function print(
  explanation: Explanation | RunExplanation,
  state: Readonly<Record<string, string>>,
  { ahead, isMore, start }: Place,
  next: readonly string[],
  json: boolean | undefined,
): void {
  if (json) {
    printJson(explanation);
    return;
  }
  writeLine(`${explanation.summary}\n`);
  const aheadText = isMore ? `more than ${ahead}` : (ahead ?? "");
  printTable([{ ...state, ahead: aheadText, estimated_start: start ?? (ahead === null ? "" : "unknown") }]);
  writeLine("");
  printTable(explanation.gates.map(({ gate, holds, message }) => ({ gate, holds: holds ? "yes" : "", message })));
  if (next.length > 0) writeLine("");
  for (const line of new Set(next)) writeLine(line);
}
