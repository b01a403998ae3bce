import type { KeyboardEvent } from "react";

/** Whether a key belongs to an input method, which puts a character together: its Enter takes the character, and nothing else. */
// Safari ends the composition before it reports this Enter, with the code 229.
export const isComposing = ({ nativeEvent }: KeyboardEvent): boolean => nativeEvent.isComposing || nativeEvent.keyCode === 229;
