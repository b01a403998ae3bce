import { LIMITS } from "./limits.ts";
import type { RunError } from "./workflows.ts";

/** What a journal has, or what is added to it. */
export interface JournalSize {
  readonly steps: number;
  /** Of outputs and errors, as JSON. */
  readonly bytes: number;
}

/** As large as the journal of a run may be. */
export const MAX_JOURNAL: JournalSize = { steps: LIMITS.journalSteps, bytes: LIMITS.journalBytes };

/** Beyond a full journal: for the undos of all its steps, for the step that says that they have begun, and for their errors. */
export const UNDO_ROOM: JournalSize = { steps: LIMITS.journalSteps + 1, bytes: 1024 * 1024 };

/** `details` of the error of a call whose steps have no room. */
export const JOURNAL_TOO_LARGE_DETAILS = { limit_steps: MAX_JOURNAL.steps, limit_bytes: MAX_JOURNAL.bytes } as const;

/** Why steps are not stored for which a journal has no room. Steps that are reported together are all stored, or none. */
export function journalTooLargeError(steps: readonly { readonly key: string }[]): RunError {
  const [first] = steps;
  const others = steps.length > 1 ? ` and ${steps.length - 1} more` : "";
  const limits = `at most ${MAX_JOURNAL.steps} steps, whose outputs and errors are ${MAX_JOURNAL.bytes} bytes together`;
  return {
    name: "JournalTooLargeError",
    message: `There is no room for step "${first?.key}"${others}: the journal of a run has ${limits}.`,
  };
}
