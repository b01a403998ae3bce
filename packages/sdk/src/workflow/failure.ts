import type { RunError } from "@tidemill/contract";

const MAX_NAME = 256;
const MAX_MESSAGE = 16_384;

/** The name and message of what was thrown, whatever it is. */
export function failureOf(thrown: unknown): RunError {
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message: storable(String(thrown), MAX_MESSAGE) };
    return { name: storable(thrown.name, MAX_NAME) || "Error", message: storable(thrown.message, MAX_MESSAGE) };
  } catch {
    return { name: "Error", message: "Something was thrown that has no text." };
  }
}

const storable = (text: string, max: number): string => text.slice(0, max).replaceAll("\0", "").toWellFormed();
