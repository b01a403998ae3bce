/** The step that says that a program has begun to undo. Its output is the error for which it does so. */
export const UNDO_BEGUN = "undo()";

export const isUndoKey = (key: string): boolean => key.startsWith("undo(") && key.endsWith(")");

/** The key of the step that an undo with this key is for. */
export const undoneBy = (key: string): string => key.slice("undo(".length, -1);
