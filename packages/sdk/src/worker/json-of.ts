import { jsonFaultOf } from "../json-fault.ts";
import { NonRetryableError } from "./errors.ts";

/**
 * The JSON of what a program has returned; undefined for what JSON leaves out.
 *
 * @param subject names it in the error
 * @throws {NonRetryableError} for what has no JSON, since the program would return the same again
 */
export function jsonOf(value: unknown, subject: string): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const { path, what } = jsonFaultOf(value, "", error);
    throw new NonRetryableError(`${subject} has no JSON: ${path || "it"} ${what}.`, { cause: error });
  }
}
