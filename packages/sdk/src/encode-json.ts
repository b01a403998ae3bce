import { TidemillError } from "./error.ts";
import { jsonFaultOf } from "./json-fault.ts";

/**
 * The JSON of a value that is sent to the service.
 *
 * @param path its path in the request; empty for all of it
 * @returns undefined for what JSON leaves out, such as a function
 * @throws {TidemillError} VALIDATION_ERROR naming the field that has no JSON
 */
export function encodeJson(value: unknown, path = ""): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const fault = jsonFaultOf(value, path, error);
    throw invalidField(fault.path || "The request", `must be a JSON value, but it ${fault.what}`, error);
  }
}

/** The error of a field that the service would refuse. */
export const invalidField = (path: string, message: string, cause?: unknown): TidemillError =>
  new TidemillError({ code: "VALIDATION_ERROR", message: `${path} ${message}.`, details: { issues: [{ path, message }] }, cause });
