import type { RunError } from "@tidemill/contract";
import { thrownText } from "../thrown-text.ts";

const MAX_NAME = 256;
const MAX_MESSAGE = 16_384;
const NO_TEXT = "Something without a text was thrown.";

/** The name and message of anything that was thrown. */
export function failureOf(thrown: unknown): RunError {
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message: storable(thrownText(thrown) ?? NO_TEXT, MAX_MESSAGE) };
    return { name: storable(thrown.name, MAX_NAME) || "Error", message: storable(thrown.message, MAX_MESSAGE) };
  } catch {
    return { name: "Error", message: NO_TEXT };
  }
}

const storable = (text: string, max: number): string => text.slice(0, max).replaceAll("\0", "").toWellFormed();
