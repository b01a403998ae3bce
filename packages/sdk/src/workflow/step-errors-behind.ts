import { causeOf, causesOf } from "./causes.ts";
import { StepError } from "./errors.ts";

/** The failure of a step that an error is, or has as its cause or as a cause of that. */
export function stepErrorCausing(error: unknown): StepError | undefined {
  for (const one of causesOf(error)) if (one instanceof StepError) return one;
  return undefined;
}

/** The failures of steps that an error comes from: as `stepErrorCausing`, and those behind each of `errors` of an `AggregateError`. */
export function stepErrorsBehind(error: unknown): StepError[] {
  const seen = new Set<Error>();
  const behind = (one: unknown): StepError[] => {
    if (!(one instanceof Error) || seen.has(one)) return [];
    seen.add(one);
    if (one instanceof StepError) return [one];
    return [...(one instanceof AggregateError ? one.errors : []), causeOf(one)].flatMap(behind);
  };
  return behind(error);
}

/** Whether an error, or a cause of it, is an `AggregateError` with failures of steps: the program went on after each of them. */
export function collectsFailures(error: unknown): boolean {
  for (const one of causesOf(error)) {
    if (one instanceof StepError) return false;
    if (one instanceof AggregateError && one.errors.some((each) => stepErrorsBehind(each).length > 0)) return true;
  }
  return false;
}
