import { LIMITS } from "./limits.ts";
import type { RunError } from "./run-errors.ts";

/** The size of a journal, or of what is added to it. */
export interface JournalSize {
  readonly steps: number;
  /** Size of outputs and errors as JSON. */
  readonly bytes: number;
}

/** The largest journal that a run may have. */
export const MAX_JOURNAL: JournalSize = { steps: LIMITS.journalSteps, bytes: LIMITS.journalBytes };

/** Room beyond a full journal: for the undos of all its steps, for the step that marks their beginning, and for their errors. */
export const UNDO_ROOM: JournalSize = { steps: LIMITS.journalSteps + 1, bytes: 1024 * 1024 };

/** `details` of the error of a call whose steps do not fit in the journal. */
export const JOURNAL_TOO_LARGE_DETAILS = { limit_steps: MAX_JOURNAL.steps, limit_bytes: MAX_JOURNAL.bytes } as const;

/** The error for steps that do not fit in a journal. Of steps that are reported together, all are stored or none. */
export function journalTooLargeError(steps: readonly { readonly key: string }[]): RunError {
  const [first] = steps;
  const others = steps.length > 1 ? ` and ${steps.length - 1} more` : "";
  const limits = `at most ${MAX_JOURNAL.steps} steps, whose outputs and errors are ${MAX_JOURNAL.bytes} bytes together`;
  return {
    name: "JournalTooLargeError",
    message: `There is no room for step "${first?.key}"${others}: the journal of a run has ${limits}.`,
  };
}

/** The step that marks that the steps of a run are being undone. Its output is the error with which the run fails. */
export const UNDO_BEGUN = "undo()";

/** How the keys of undos begin. */
export const UNDO_PREFIX = "undo(";

/** The key of the step that undoes a step. */
export const undoKey = (key: string): string => `${UNDO_PREFIX}${key})`;

/** Whether a key has the form that only steps of the type `undo` may have. */
export const isUndoKey = (key: string): boolean => key.startsWith(UNDO_PREFIX) && key.endsWith(")");

/** The key of the step that an undo with this key is for. */
export const undoneBy = (key: string): string => key.slice(UNDO_PREFIX.length, -1);

/** The error if a run may not have another signal whose wait has not ended. Null: it may. */
export const tooManySignals = (pending: ReadonlySet<string>, signal: string): RunError | null =>
  pending.has(signal) || pending.size < LIMITS.pendingSignals
    ? null
    : {
        name: "TooManySignalsError",
        message: `The run already has ${LIMITS.pendingSignals} signals whose waits have not ended. It may not have more at the same time.`,
      };

/**
 * Why a run may not be invoked by runs that have invoked one another. Null: it may.
 *
 * @param names the workflows of the runs in a row, the last of which is to be invoked
 */
export const invokedTooDeep = (names: readonly string[]): string | null =>
  names.length - 2 < LIMITS.invokeDepth
    ? null
    : `At most ${LIMITS.invokeDepth} runs may have invoked one another in a row: ${cycleOf(names).join(" → ")}.`;

/** The cycle: the runs from the last one of the workflow that is to be invoked again. All runs if there is no cycle. */
const cycleOf = (names: readonly string[]): readonly string[] =>
  names.slice(Math.max(names.slice(0, -1).lastIndexOf(names.at(-1) ?? ""), 0));
