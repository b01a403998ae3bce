import { jsonText } from "../json-text.ts";
import { NonRetryableError } from "./errors.ts";

/**
 * The JSON of a value that a handler or workflow has returned; undefined for a value that JSON leaves out.
 *
 * @param subject names it in the error
 * @throws {NonRetryableError} for a value without JSON, since another attempt would return the same
 */
export const jsonOf = (value: unknown, subject: string): string | undefined =>
  jsonText(value, "", ({ path, what }) => new NonRetryableError(`${subject} has no JSON: ${path || "it"} ${what}.`));
