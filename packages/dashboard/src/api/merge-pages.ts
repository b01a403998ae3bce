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

/** The rows of the loaded pages in their order, with what newer versions of some of these pages (by their places) say about them. */
export function mergePages<T>(loaded: readonly Page<T>[], fresh: ReadonlyMap<number, Page<T>>, idOf: (record: T) => string): ListRow<T>[] {
  const records = loaded.flatMap(({ data }) => data);
  const places = new Map(records.map((record, at) => [idOf(record), at]));
  const newest = new Map<string, T>();
  const gone = new Set<number>();
  for (const [page, { data, next_cursor }] of fresh) {
    for (const record of data) newest.set(idOf(record), record);
    const present = new Set(data.flatMap((record) => places.get(idOf(record)) ?? []));
    // Between the page's begin and its last record that is known. A last page reaches to the end.
    const from = loaded.slice(0, page).reduce((sum, one) => sum + one.data.length, 0);
    const to = next_cursor === null ? records.length - 1 : Math.max(-1, ...present);
    for (let at = from; at <= to; at++) if (!present.has(at)) gone.add(at);
  }
  return [...places].map(([id, at]) => {
    const record = newest.get(id);
    return { id, record: record ?? (records[at] as T), gone: record === undefined && gone.has(at) };
  });
}

/** How many records of a newer first page come before all that are loaded. */
export function countNew<T>(rows: readonly ListRow<T>[], { data }: Page<T>, idOf: (record: T) => string): number {
  const known = new Set(rows.map(({ id }) => id));
  const first = data.findIndex((record) => known.has(idOf(record)));
  return first < 0 ? data.length : first;
}
