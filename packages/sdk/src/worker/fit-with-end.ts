import type { ReportedStep } from "@tidemill/contract";
import { fitInBody } from "../workflow/fits-in-body.ts";
import { bodyValuesOf, charactersOf, MAX_BODY_VALUES } from "../workflow/outbox.ts";

/** Limits of the steps that are reported with the end of an execution. A call of its own takes any output, as it was written. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_VALUES = 4_000;
const MAX_DEPTH = 32;

/** How many of the last steps may be reported with the end of an execution: all if they fit, otherwise the small waiting ones. */
export function countWithEnd(steps: readonly ReportedStep[]): number {
  const sumOf = (count: (step: ReportedStep) => number) => steps.reduce((sum, step) => sum + count(step), 0);
  const outputs = steps.map(({ output }) => output);
  if (sumOf(charactersOf) <= MAX_CHARACTERS && sumOf(bodyValuesOf) <= MAX_BODY_VALUES && fitInBody(outputs, MAX_VALUES, MAX_DEPTH))
    return steps.length;
  let [characters, values] = [0, 0];
  const last = steps.findLastIndex((step) => {
    characters += charactersOf(step);
    values += bodyValuesOf(step);
    return step.status !== "waiting" || characters > MAX_CHARACTERS || values > MAX_BODY_VALUES;
  });
  return steps.length - 1 - last;
}
