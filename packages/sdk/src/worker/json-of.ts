import { jsonFaultOf } from "../json-fault.ts";
import { NonRetryableError } from "./errors.ts";

/**
 * The JSON of a value that a handler or workflow has returned; undefined for a value that JSON leaves out.
 *
 * @param subject names it in the error
 * @param replacer of `JSON.stringify`
 * @throws {NonRetryableError} for a value without JSON, since another attempt would return the same
 */
export function jsonOf(value: unknown, subject: string, replacer?: (name: string, value: unknown) => unknown): string | undefined {
  try {
    return JSON.stringify(value, replacer);
  } catch (error) {
    const { path, what } = jsonFaultOf(value, "", error);
    throw new NonRetryableError(`${subject} has no JSON: ${path || "it"} ${what}.`, { cause: error });
  }
}
