import type { Explanation, RunExplanation } from "@tidemill/contract";
import { printJson, printTable, writeLine } from "./table.ts";

/** Prints a summary, then the gates. */
export function printExplanation(explanation: Explanation, json: boolean | undefined): void {
  const { state, ahead, ahead_is_more: isMore, estimated_start: start } = explanation;
  print(explanation, { state }, { ahead, isMore, start }, json);
}

/** Prints why a run is not being executed, like `printExplanation`. */
export function printRunExplanation(explanation: RunExplanation, json: boolean | undefined): void {
  const { status, ahead, aheadIsMore: isMore, estimatedStart: start } = explanation;
  print(explanation, { status }, { ahead, isMore, start }, json);
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
}
