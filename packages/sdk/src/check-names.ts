import { didYouMean } from "./nearest.ts";

/**
 * Refuses options that do not exist, which are mostly misspelt.
 *
 * @param of whose options they are, in words
 * @param known the names of the options that exist
 * @throws {TypeError}
 */
export function checkNames(of: string, options: object, known: object): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`The options of ${of} must be an object.`);
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw new TypeError(`${name} is not an option of ${of}.${didYouMean(name, Object.keys(known))}`);
  }
}
