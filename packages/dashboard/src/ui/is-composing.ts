import type { KeyboardEvent } from "react";

/** Whether a key belongs to an input method that composes a character: its Enter accepts the character, and does nothing else. */
// Safari ends the composition before it reports this Enter, with the code 229.
export const isComposing = ({ nativeEvent }: KeyboardEvent): boolean => nativeEvent.isComposing || nativeEvent.keyCode === 229;
