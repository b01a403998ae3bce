import { distance } from "fastest-levenshtein";

const MAX_TYPOS = 3;

/** The name that was probably meant by an unknown one: the one with the fewest typos, ignoring case. Null if none is similar. */
export function nearest(typed: string, names: readonly string[]): string | null {
  let near: { name: string; typos: number } | null = null;
  for (const name of names) {
    const typos = name === typed ? Number.POSITIVE_INFINITY : typosBetween(typed, name);
    // Of equally similar names, the first in alphabetical order: the result must not depend on the order of `names`.
    if (typos <= maxTypos(name) && (!near || typos < near.typos || (typos === near.typos && name < near.name))) near = { name, typos };
  }
  return near?.name ?? null;
}

/** The number of typos between two names, ignoring case. Infinite if their lengths differ by more than `MAX_TYPOS`. */
export const typosBetween = (typed: string, name: string): number =>
  Math.abs(typed.length - name.length) > MAX_TYPOS ? Number.POSITIVE_INFINITY : distance(typed.toLowerCase(), name.toLowerCase());

/** How many typos a name may have. Fewer for a short name, because most short names are similar. */
export const maxTypos = (name: string): number => Math.min(MAX_TYPOS, Math.floor(name.length / 2));
