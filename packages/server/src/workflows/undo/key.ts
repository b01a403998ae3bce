import { LIMITS, UNDO_BEGUN } from "@tidemill/contract";

/** The maximum length of the key of a step that can be undone: the key of its undo must not be longer than keys may be. */
export const MAX_UNDOABLE_KEY_LENGTH = LIMITS.stepKeyLength - UNDO_BEGUN.length;

export const RESERVED_KEY = "must not be undo(…), which is for steps of the type undo";
