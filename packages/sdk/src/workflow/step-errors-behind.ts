import { StepError } from "./errors.ts";

/**
 * The failures of steps that an error comes from: itself, or those behind its `cause`, and behind each of `errors` that an `AggregateError`
 * has. What is behind the failure of a step is not looked at.
 */
export function stepErrorsBehind(error: unknown): StepError[] {
  const seen = new Set<Error>();
  const behind = (one: unknown): StepError[] => {
    if (!(one instanceof Error) || seen.has(one)) return [];
    seen.add(one);
    if (one instanceof StepError) return [one];
    return [...(one instanceof AggregateError ? one.errors : []), one.cause].flatMap(behind);
  };
  return behind(error);
}
