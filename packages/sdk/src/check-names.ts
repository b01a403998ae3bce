import { didYouMean } from "./nearest.ts";

/**
 * Refuses options that do not exist. Usually they are misspelt.
 *
 * @param of whose options they are, in words
 * @param known the names of the options that exist
 * @throws {TypeError}
 */
export function checkNames(of: string, options: object, known: object): void {
  checkObject(`The options of ${of}`, options);
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw new TypeError(`${name} is not an option of ${of}.${didYouMean(name, Object.keys(known))}`);
  }
}

/**
 * Refuses options of a call whose last argument has few, because the others belong into the argument before it.
 *
 * @throws {TypeError}
 */
export function checkLastArgument(of: string, options: object, known: object): void {
  const names = Object.keys(known);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new TypeError(`The last argument of ${of} has only ${names.join(", ")}, not ${unknown}.${didYouMean(unknown, names)}`);
}

/**
 * @param what the kind of value, in words
 * @throws {TypeError} for anything that is not an object
 */
export function checkObject(what: string, given: unknown): void {
  if (typeof given === "object" && given !== null) return;
  throw new TypeError(`${what} must be an object, not ${given === null ? "null" : typeof given}.`);
}
