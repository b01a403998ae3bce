import type { ReportedStep } from "@tidemill/contract";
import { charactersOf } from "../workflow/outbox.ts";

/** Limits of the steps that are reported with the end of an execution. A call of its own takes any output, as it was written. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_VALUES = 4_000;
const MAX_DEPTH = 32;
/** The service refuses these names where it does not keep a value as it was written. */
const NAMES = new Set(["__proto__", "constructor"]);

/** Whether steps may be reported with the end of an execution. */
export function fitWithEnd(steps: readonly ReportedStep[]): boolean {
  if (steps.reduce((sum, step) => sum + charactersOf(step), 0) > MAX_CHARACTERS) return false;
  let values = 0;
  const fits = (value: unknown, depth: number): boolean => {
    values += 1;
    if (values > MAX_VALUES || depth > MAX_DEPTH) return false;
    if (typeof value !== "object" || value === null) return true;
    return Object.entries(value).every(([name, member]) => !NAMES.has(name) && fits(member, depth + 1));
  };
  return steps.every(({ output }) => fits(output, 0));
}
