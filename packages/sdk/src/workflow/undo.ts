import type { RunError } from "@tidemill/contract";
import { UNDO_BEGUN } from "@tidemill/contract/journal";
import { isGeneratorFunction } from "../lost-in-json.ts";
import { NonRetryableError } from "../worker/errors.ts";
import type { StepContext } from "./context.ts";
import type { Journal } from "./journal.ts";
import { stepBase } from "./step-keys.ts";
import type { StepSettings } from "./step-settings.ts";

/** What undoes a step. */
export interface Undo {
  readonly fn: (output: unknown, context: StepContext) => unknown;
  readonly settings: StepSettings;
}

export const idempotencyKey = (runId: string, key: string): string => `${runId}:${encodeURIComponent(key)}`;

/** Leaves room for `undo()` around the key. */
const MAX_LENGTH = 240;

/** @throws {TypeError} if it is not a function; {NonRetryableError} for a name that is too long for the step of its undo */
export function checkUndo(undo: unknown, name: string, key: string | number | undefined): void {
  if (typeof undo !== "function") throw new TypeError(`undo must be a function, not ${typeof undo}.`);
  if (isGeneratorFunction(undo))
    throw new TypeError("undo must not be a generator, which a call does not execute. Make it an async function.");
  if (stepBase(name, key).length > MAX_LENGTH)
    throw new NonRetryableError(`The name of a step with undo has at most ${MAX_LENGTH} characters, with its key.`);
}

/** The error with which a run fails, if its steps are being undone. Otherwise null. */
export function undoBegun(journal: Journal): RunError | null {
  const begun = journal.find(UNDO_BEGUN);
  return begun ? (begun.output as RunError) : null;
}
