import { fitInBody } from "./fits-in-body.ts";

const MAX_BYTES = 4 * 1024;
const MAX_DEPTH = 32;

/**
 * The progress that a program reports, as JSON text.
 *
 * @throws {TypeError} for a value without JSON, or with too much of it
 */
export function progressText(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("The progress of a run must be JSON.");
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > MAX_BYTES) throw new TypeError(`The progress of a run has at most ${MAX_BYTES} bytes, not ${bytes}.`);
  if (!fitInBody([JSON.parse(text)], MAX_BYTES, MAX_DEPTH))
    throw new TypeError(`The progress of a run has at most ${MAX_DEPTH} levels, and no member of the name __proto__ or constructor.`);
  return text;
}
