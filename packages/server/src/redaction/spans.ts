/** Where bytes hold a value. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Of the secret. */
  readonly name: string;
}

/** Collects spans in a space that depends on the length of the bytes alone: of those that begin at one place the longest. */
export class Spans {
  readonly #length: number;
  #byStart: (Span | undefined)[] | undefined;

  constructor(length: number) {
    this.#length = length;
  }

  add(start: number, end: number, name: string): void {
    this.#byStart ??= new Array<Span | undefined>(this.#length);
    const known = this.#byStart[start];
    if (!known || known.end < end) this.#byStart[start] = { start, end, name };
  }

  /** In order, those that overlap made one, which has the name of the longest. */
  merged(): Span[] {
    const apart: Span[] = [];
    let longest = 0;
    for (const span of this.#byStart ?? []) {
      if (!span) continue;
      const last = apart.at(-1);
      const length = span.end - span.start;
      if (!last || span.start >= last.end) {
        apart.push(span);
        longest = length;
        continue;
      }
      apart[apart.length - 1] = { start: last.start, end: Math.max(last.end, span.end), name: length > longest ? span.name : last.name };
      longest = Math.max(longest, length);
    }
    return apart;
  }
}
