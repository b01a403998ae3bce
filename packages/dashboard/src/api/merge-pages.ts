/** A page of a list, as the API sends it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** A row of a list. `gone`: the record no longer belongs to the list, for example because it was retried. */
export interface ListRow<T> {
  readonly id: string;
  readonly record: T;
  readonly gone: boolean;
}

/** The rows of a page are made once: a long list is put together again with each page of it. */
const rowsOfPage = new WeakMap<Page<unknown>, readonly ListRow<unknown>[]>();

function rowsOf<T>(page: Page<T>, idOf: (record: T) => string): readonly ListRow<T>[] {
  const made = rowsOfPage.get(page) as readonly ListRow<T>[] | undefined;
  if (made) return made;
  const rows = page.data.map((record) => ({ id: idOf(record), record, gone: false }));
  rowsOfPage.set(page, rows);
  return rows;
}

/** The rows of the loaded pages in their order, with what newer versions of some of these pages (by their places) say about them. */
export function mergePages<T>(loaded: readonly Page<T>[], fresh: ReadonlyMap<number, Page<T>>, idOf: (record: T) => string): ListRow<T>[] {
  const pages = loaded.map((page) => rowsOf(page, idOf));
  for (const [at, page] of fresh) if (page !== loaded[at]) renew(pages, at, page, idOf);
  const ids = new Set<string>();
  const rows: ListRow<T>[] = [];
  for (const page of pages) {
    for (const row of page) if (ids.add(row.id).size > rows.length) rows.push(row);
  }
  return rows;
}

/** Puts the newer version of a page into its rows, and into those of the pages after it that have moved up. */
function renew<T>(pages: (readonly ListRow<T>[])[], from: number, { data, next_cursor }: Page<T>, idOf: (record: T) => string): void {
  const newest = new Map(data.map((record) => [idOf(record), record]));
  // The last place that the newer version knows of. What is missing up to there is gone. A last page reaches to the end.
  let [lastPage, lastRow] = next_cursor === null ? [pages.length - 1, Number.POSITIVE_INFINITY] : [from, -1];
  if (next_cursor !== null) {
    for (let page = from; page < pages.length; page += 1) {
      const row = pages[page]?.findLastIndex(({ id }) => newest.has(id)) ?? -1;
      if (row >= 0) [lastPage, lastRow] = [page, row];
      else if (page > from) break;
    }
  }
  for (let page = from; page <= lastPage; page += 1) {
    pages[page] = (pages[page] ?? []).map((row, at) => {
      const record = newest.get(row.id);
      if (record !== undefined) return record === row.record && !row.gone ? row : { id: row.id, record, gone: false };
      return page < lastPage || at <= lastRow ? { ...row, gone: true } : row;
    });
  }
}

/** How many records of a newer first page come before all that are loaded. */
export function countNew<T>(rows: readonly ListRow<T>[], { data }: Page<T>, idOf: (record: T) => string): number {
  const places = new Map(data.map((record, at) => [idOf(record), at]));
  let first = data.length;
  for (const { id } of rows) {
    first = Math.min(first, places.get(id) ?? first);
    if (first === 0) break;
  }
  return first;
}
