import { NOT_IN_NAMES } from "#http";

const ALL = new RegExp(NOT_IN_NAMES, "gu");
const MAX_LENGTH = 128;

/** A name that another program has given, without what pages refuse in names. Null when nothing is left. */
export function shownName(given: string): string | null {
  // Characters of two units stay whole.
  const name = [...given.toWellFormed().replace(ALL, "").trim()].slice(0, MAX_LENGTH / 2).join("");
  return name === "" ? null : name;
}
