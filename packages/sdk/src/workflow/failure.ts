import type { RunError } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { thrownText } from "../thrown-text.ts";

const NO_TEXT = "Something without a text was thrown.";

/** The name and message of anything that was thrown. */
export function failureOf(thrown: unknown): RunError {
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message: storable(thrownText(thrown) ?? NO_TEXT, LIMITS.workerErrorLength) };
    return { name: storable(thrown.name, LIMITS.errorNameLength) || "Error", message: storable(thrown.message, LIMITS.workerErrorLength) };
  } catch {
    return { name: "Error", message: NO_TEXT };
  }
}

const storable = (text: string, max: number): string => text.slice(0, max).replaceAll("\0", "").toWellFormed();
