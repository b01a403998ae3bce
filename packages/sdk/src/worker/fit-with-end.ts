import type { ReportedStep } from "@tidemill/contract";
import { fitInBody } from "../workflow/fits-in-body.ts";
import { charactersOf } from "../workflow/outbox.ts";

/** Limits of the steps that are reported with the end of an execution. A call of its own takes any output, as it was written. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_VALUES = 4_000;
const MAX_DEPTH = 32;

/** How many of the last steps may be reported with the end of an execution: all if they fit, else those of them that wait and are small. */
export function countWithEnd(steps: readonly ReportedStep[]): number {
  const total = steps.reduce((sum, step) => sum + charactersOf(step), 0);
  const outputs = steps.map(({ output }) => output);
  if (total <= MAX_CHARACTERS && fitInBody(outputs, MAX_VALUES, MAX_DEPTH)) return steps.length;
  let characters = 0;
  const last = steps.findLastIndex((step) => {
    characters += charactersOf(step);
    return step.status !== "waiting" || characters > MAX_CHARACTERS;
  });
  return steps.length - 1 - last;
}
