/** A row of a list. `gone`: the record no longer belongs to the list, for example because it was retried. */
export interface ListRow<T> {
  readonly id: string;
  readonly record: T;
  readonly gone: boolean;
}

/** Rows by their places, like an array. */
export interface RowsByPlace<T> extends Iterable<ListRow<T>> {
  readonly length: number;
  at(place: number): ListRow<T> | undefined;
}

export const idsOf = (rows: RowsByPlace<unknown>): string[] => Array.from(rows, ({ id }) => id);

/** The rows of a list, stored page by page: when a page is added, the others are not copied. */
export class Rows<T> implements RowsByPlace<T> {
  readonly length: number;
  readonly #pages: readonly (readonly ListRow<T>[])[];
  /** The place of each page's first row. */
  readonly #starts: readonly number[];
  readonly #ids: ReadonlySet<string>;

  constructor(pages: readonly (readonly ListRow<T>[])[], ids: ReadonlySet<string>) {
    let length = 0;
    this.#starts = pages.map((page) => {
      length += page.length;
      return length - page.length;
    });
    this.length = length;
    this.#pages = pages;
    this.#ids = ids;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  at(place: number): ListRow<T> | undefined {
    const page = this.pageOf(place);
    return this.#pages[page]?.[place - (this.#starts[page] ?? 0)];
  }

  /** The page in which a place is: the last one that begins at it or before. */
  pageOf(place: number): number {
    let [from, to] = [0, this.#starts.length - 1];
    while (from < to) {
      const middle = Math.ceil((from + to) / 2);
      if ((this.#starts[middle] ?? 0) <= place) from = middle;
      else to = middle - 1;
    }
    return from;
  }

  *[Symbol.iterator](): Iterator<ListRow<T>> {
    for (const page of this.#pages) yield* page;
  }
}
