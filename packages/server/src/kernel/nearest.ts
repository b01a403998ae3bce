import { distance } from "fastest-levenshtein";

const MAX_TYPOS = 3;

/** The name that was probably meant by one that is not known: the fewest typos away, whatever the case. Null where none is near. */
export function nearest(typed: string, names: readonly string[]): string | null {
  let near: { name: string; typos: number } | null = null;
  for (const name of names) {
    const typos = name === typed ? Number.POSITIVE_INFINITY : typosBetween(typed, name);
    // Of equals the first in the alphabet: the order of `names` must not show.
    if (typos <= maxTypos(name) && (!near || typos < near.typos || (typos === near.typos && name < near.name))) near = { name, typos };
  }
  return near?.name ?? null;
}

/** Whether one may be a misspelling of the other. Infinite where it is clear from their lengths that it is not. */
export const typosBetween = (typed: string, name: string): number =>
  Math.abs(typed.length - name.length) > MAX_TYPOS ? Number.POSITIVE_INFINITY : distance(typed.toLowerCase(), name.toLowerCase());

/** How many typos a name may have: in a short one fewer, for any two short names are near. */
export const maxTypos = (name: string): number => Math.min(MAX_TYPOS, Math.floor(name.length / 2));
