import { type JsonFault, jsonFaultOf } from "./json-fault.ts";
import { jsonOrLoss } from "./lost-in-json.ts";

/**
 * The JSON of a value that a program returns or sends. An Error becomes its name and message, with the members that were added to it.
 *
 * @param path its own path, for the fault
 * @param refuse makes the error of a value with a part that has no JSON, or of which JSON would not keep what it has
 * @returns undefined for what JSON leaves out, such as a function
 */
export function jsonText(value: unknown, path: string, refuse: (fault: JsonFault, cause?: unknown) => Error): string | undefined {
  let json: ReturnType<typeof jsonOrLoss>;
  try {
    json = jsonOrLoss(value);
  } catch (error) {
    throw refuse(jsonFaultOf(value, path, error), error);
  }
  const { text, lost } = json;
  if (!lost) return text;
  const { what, becomes, advice } = lost;
  const within = path !== "" && /^[^[]/.test(lost.path) ? `.${lost.path}` : lost.path;
  throw refuse({ path: path + within, what: `is ${what}, which would become ${becomes}. ${advice}` });
}
