import type { ReportedStep } from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { NonRetryableError } from "../worker/errors.ts";
import { JournalTooLargeError } from "./errors.ts";
import { failureOf } from "./failure.ts";

/** The error of an execution whose steps could not be stored. If the service refused them, another attempt would not help. */
export function notStored(steps: readonly ReportedStep[], error: unknown): Error {
  if (isJournalTooLarge(error)) return new JournalTooLargeError(error.message, { cause: error });
  const isRefused = error instanceof TidemillError && error.status !== null && error.status < 500;
  const { message: why } = failureOf(error);
  const keys = steps.map(({ key }) => `"${key}"`).join(", ");
  const message = (isRefused && refusedStep(steps, why)) || `The outcome of step ${keys} could not be stored: ${why}`;
  return isRefused ? new NonRetryableError(message) : new Error(message);
}

/** Whether the journal of the run is full. */
export const isJournalTooLarge = (error: unknown): error is TidemillError =>
  error instanceof TidemillError && error.code === "PAYLOAD_TOO_LARGE" && "limit_steps" in error.details;

/** What the service says about one of several steps, with the step's key instead of its path; null if it names no step. */
export function refusedStep(steps: readonly ReportedStep[], message: string): string | null {
  const { at, what } = refusalIn(message);
  const step = steps[at];
  return step && what !== undefined ? `The service refused step "${step.key}": ${what}` : null;
}

/**
 * The outcomes that can be stored without the step that the service refuses; none if it names no step. What the workflow did after that
 * step, because of it, may be different next time. So from then on, only results of steps are kept.
 */
export function withoutRefused(steps: readonly ReportedStep[], message: string): ReportedStep[] {
  const { at } = refusalIn(message);
  if (!steps[at]) return [];
  return steps.filter((step, index) => step.status !== "waiting" && (index < at || (index > at && hasReturned(step))));
}

/** Whether a step has had its effect, no matter what the workflow has done since. */
export const hasReturned = ({ type, status }: ReportedStep): boolean => status === "completed" && type !== "value";

/** Stores steps. If the service refuses one of them, it stores the others: their effects must not happen again. */
export async function storeOrOthers(
  steps: readonly ReportedStep[],
  store: (steps: readonly ReportedStep[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await store(steps);
  } catch (error) {
    const others = error instanceof TidemillError ? withoutRefused(steps, error.message) : [];
    if (others.length > 0) await storeOrOthers(others, store).catch(() => []);
    throw error;
  }
}

function refusalIn(message: string): { readonly at: number; readonly what: string | undefined } {
  const [, at, what] = /\bsteps\[(\d+)\][. ](.+)$/s.exec(message) ?? [];
  return { at: Number(at), what };
}
