import type { Explanation } from "@tidemill/contract";
import { printJson, printTable, writeLine } from "./table.ts";

/** Prints a summary, then the gates. */
export function printExplanation(explanation: Explanation, json: boolean | undefined): void {
  if (json) {
    printJson(explanation);
    return;
  }
  const { state, summary, ahead, ahead_is_more, gates, estimated_start } = explanation;
  writeLine(`${summary}\n`);
  const aheadText = ahead_is_more ? `more than ${ahead}` : (ahead ?? "");
  printTable([{ state, ahead: aheadText, estimated_start: estimated_start ?? (ahead === null ? "" : "unknown") }]);
  writeLine("");
  printTable(gates.map(({ gate, holds, message }) => ({ gate, holds: holds ? "yes" : "", message })));
}
