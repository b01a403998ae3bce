import { isInvalidDate } from "./clock.ts";
import { thrownText } from "./thrown-text.ts";

/** What a caller has passed, for the message of an error. JSON has null for NaN and invalid dates, and nothing for a BigInt. */
export function givenText(given: unknown): string {
  if (typeof given === "bigint") return `${given}n`;
  if (isInvalidDate(given)) return "an invalid Date";
  if (typeof given === "function") return "a function";
  if (typeof given === "string") return JSON.stringify(given);
  if (typeof given !== "object" || given === null) return String(given);
  try {
    return JSON.stringify(given) ?? "an object";
  } catch {
    return thrownText(given) ?? "an object";
  }
}
