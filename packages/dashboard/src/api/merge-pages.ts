import { type ListRow, Rows } from "./rows.ts";

/** A page of a list, as the API sends it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** The pages of a list, and their rows without those that an earlier page has. */
interface Loaded<T> {
  readonly pages: Page<T>[];
  readonly rows: (readonly ListRow<T>[])[];
  readonly ids: Set<string>;
}

/** Merged lists, by their first pages. Adding a page costs the same, however many pages there are. */
const loadedFrom = new WeakMap<Page<unknown>, Loaded<unknown>>();

/** The rows of the loaded pages in order, updated from newer versions of some of these pages (by their places). */
export function mergePages<T>(pages: readonly Page<T>[], fresh: ReadonlyMap<number, Page<T>>, idOf: (record: T) => string): Rows<T> {
  const { rows, ids } = load(pages, idOf);
  const merged = [...rows];
  for (const [at, page] of fresh) if (page !== pages[at]) renew(merged, at, page, idOf);
  return new Rows(merged, ids);
}

function load<T>(pages: readonly Page<T>[], idOf: (record: T) => string): Loaded<T> {
  const [first] = pages;
  let loaded = first && (loadedFrom.get(first) as Loaded<T> | undefined);
  if (!loaded?.pages.every((page, at) => page === pages[at])) loaded = { pages: [], rows: [], ids: new Set() };
  for (const page of pages.slice(loaded.pages.length)) {
    const { ids } = loaded;
    const rows = page.data.map((record) => ({ id: idOf(record), record, gone: false }));
    loaded.rows.push(rows.filter(({ id }) => ids.size < ids.add(id).size));
    loaded.pages.push(page);
  }
  if (first) loadedFrom.set(first, loaded);
  return loaded;
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
export function countNew<T>(rows: Rows<T>, { data }: Page<T>, idOf: (record: T) => string): number {
  const first = data.findIndex((record) => rows.has(idOf(record)));
  return first < 0 ? data.length : first;
}
