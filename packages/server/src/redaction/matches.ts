/** A range of bytes that holds the value of a secret. */
export interface Match {
  readonly start: number;
  readonly end: number;
  /** Name of the secret. */
  readonly secret: string;
}

/** Collects matches. It keeps the longest at each start, so its memory depends only on the length of the text. */
export class Matches {
  readonly #length: number;
  #byStart: (Match | undefined)[] | undefined;

  constructor(length: number) {
    this.#length = length;
  }

  add(start: number, end: number, secret: string): void {
    this.#byStart ??= new Array<Match | undefined>(this.#length);
    const known = this.#byStart[start];
    if (!known || known.end < end) this.#byStart[start] = { start, end, secret };
  }

  /** The matches in order. Overlapping ones become one, named after the longest. */
  merged(): Match[] {
    const merged: Match[] = [];
    let longest = 0;
    for (const match of this.#byStart ?? []) {
      if (!match) continue;
      const last = merged.at(-1);
      const length = match.end - match.start;
      if (!last || match.start >= last.end) {
        merged.push(match);
        longest = length;
        continue;
      }
      const secret = length > longest ? match.secret : last.secret;
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, match.end), secret };
      longest = Math.max(longest, length);
    }
    return merged;
  }
}
