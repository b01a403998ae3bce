const MAX_TYPOS = 3;

/** The name that was probably meant by an unknown one: the one with the fewest typos, ignoring case. Null if none is similar. */
function nearest(typed: string, names: Iterable<string>): string | null {
  let near: { readonly name: string; readonly typos: number } | null = null;
  for (const name of names) {
    if (Math.abs(typed.length - name.length) > MAX_TYPOS) continue;
    const typos = typosBetween(typed.toLowerCase(), name.toLowerCase());
    if (typos <= Math.min(MAX_TYPOS, Math.floor(name.length / 2)) && typos < (near?.typos ?? Number.POSITIVE_INFINITY))
      near = { name, typos };
  }
  return near?.name ?? null;
}

/** What an error says about the name that was probably meant. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const near = nearest(typed, names);
  return near === null ? "" : ` Did you mean ${near}?`;
}

/** How many characters must be changed, added or removed (the Levenshtein distance). */
function typosBetween(from: string, to: string): number {
  let before = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row += 1) {
    const now = [row];
    for (let at = 1; at <= to.length; at += 1) {
      const changed = (before[at - 1] ?? 0) + (from[row - 1] === to[at - 1] ? 0 : 1);
      now.push(Math.min(changed, (before[at] ?? 0) + 1, (now[at - 1] ?? 0) + 1));
    }
    before = now;
  }
  return before[to.length] ?? 0;
}
