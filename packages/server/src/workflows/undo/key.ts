import { LIMITS } from "@tidemill/contract";

/** The step that says that a program has begun to undo. Its output is the error for which it does so. */
export const UNDO_BEGUN = "undo()";

/** The longest key of a step that can be undone: that of its undo must not be longer than keys may be. */
export const MAX_UNDOABLE_KEY_LENGTH = LIMITS.stepKeyLength - UNDO_BEGUN.length;

/** Such keys are only for steps of the type `undo`. */
export const isUndoKey = (key: string): boolean => key.startsWith("undo(") && key.endsWith(")");

export const RESERVED_KEY = "must not be undo(…), which is for steps of the type undo";

/** The key of the step that an undo with this key is for. */
export const undoneBy = (key: string): string => key.slice("undo(".length, -1);
