import { LIMITS } from "@tidemill/contract";

/** The key of the step that says that a program has begun to undo. Its output is the error that led to the undo. */
export const UNDO_BEGUN = "undo()";

/** The maximum length of the key of a step that can be undone: the key of its undo must not be longer than keys may be. */
export const MAX_UNDOABLE_KEY_LENGTH = LIMITS.stepKeyLength - UNDO_BEGUN.length;

/** Whether a key has the form that only steps of the type `undo` may have. */
export const isUndoKey = (key: string): boolean => key.startsWith("undo(") && key.endsWith(")");

export const RESERVED_KEY = "must not be undo(…), which is for steps of the type undo";

/** The key of the step that an undo with this key is for. */
export const undoneBy = (key: string): string => key.slice("undo(".length, -1);
