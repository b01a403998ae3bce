import { TidemillError } from "./error.ts";
import { jsonText } from "./json-text.ts";

/**
 * The JSON of a value that is sent to the service.
 *
 * @param path its path in the request; empty for all of it
 * @returns undefined for what JSON leaves out, such as a function
 * @throws {TidemillError} VALIDATION_ERROR naming the field that has no JSON
 */
export const encodeJson = (value: unknown, path = ""): string | undefined =>
  jsonText(value, path, (fault, cause) => invalidField(fault.path || "The request", `must be a JSON value, but it ${fault.what}`, cause));

/** The error of a field that the service would refuse. */
export const invalidField = (path: string, message: string, cause?: unknown): TidemillError =>
  new TidemillError({ code: "VALIDATION_ERROR", message: `${path} ${message}.`, details: { issues: [{ path, message }] }, cause });
