import { LIMITS } from "@tidemill/contract/limits";
import { jsonText } from "../json-text.ts";
import { fitInBody } from "./fits-in-body.ts";

const MAX_DEPTH = 32;

/**
 * The progress that a program reports, as JSON text.
 *
 * @throws {TypeError} for a value without JSON, or with too much of it
 */
export function progressText(value: unknown): string {
  const text = jsonText(value, "", ({ path, what }) => new TypeError(`The progress of a run has no JSON: ${path || "it"} ${what}.`));
  if (text === undefined) throw new TypeError("The progress of a run must be JSON.");
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > LIMITS.progressBytes) throw new TypeError(`The progress of a run has at most ${LIMITS.progressBytes} bytes, not ${bytes}.`);
  if (!fitInBody([JSON.parse(text)], LIMITS.progressBytes, MAX_DEPTH))
    throw new TypeError(`The progress of a run has at most ${MAX_DEPTH} levels, and no member of the name __proto__ or constructor.`);
  return text;
}
