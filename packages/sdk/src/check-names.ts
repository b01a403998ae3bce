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
 * @param what the kind of value, in words
 * @throws {TypeError} for anything that is not an object
 */
export function checkObject(what: string, given: unknown): void {
  if (typeof given === "object" && given !== null) return;
  throw new TypeError(`${what} must be an object, not ${given === null ? "null" : typeof given}.`);
}
