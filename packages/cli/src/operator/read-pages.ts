import { cutPage, type PageRow } from "@tidemill/server";

/** Records per page of a list that is read whole. */
const PAGE = 100;

/** Reads a list page by page, and converts its records with `show`. Each page begins below the last id of the page before. */
export async function* readPages<Id, Row extends { readonly id: Id }, Shown>(
  readPage: (before: Id | null, limit: number) => Promise<Row[]>,
  limit: number,
  show: (row: Row) => Shown,
): AsyncGenerator<Shown[]> {
  for (let before: Id | null = null; ; ) {
    const page: Row[] = await readPage(before, limit);
    yield page.map(show);
    if (page.length < limit) return;
    before = page.at(-1)?.id ?? null;
  }
}

/** The same for a list whose pages may end early. The next page begins where the scan of the page before ended. */
export async function* readScans<Id, Row extends PageRow<Id> & { readonly id: Id }, Shown>(
  readPage: (before: Id | null, limit: number) => Promise<Row[]>,
  limit: number,
  show: (row: Row) => Shown,
): AsyncGenerator<Shown[]> {
  for (let before: Id | null = null; ; ) {
    const { records, next }: { records: Row[]; next: Id | null } = cutPage(await readPage(before, limit + 1), limit, ({ id }) => id);
    yield records.map(show);
    if (next === null) return;
    before = next;
  }
}

/** All records of a list that is read by `readPages`. */
export async function readAllPages<Id, Row extends { readonly id: Id }>(
  readPage: (before: Id | null, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for await (const page of readPages(readPage, PAGE, (row) => row)) all.push(...page);
  return all;
}
