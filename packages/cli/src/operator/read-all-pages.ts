import { cutPage, type PageRow } from "@tidemill/server";

/** Records per page. */
const PAGE = 100;

/** Reads a list page by page and returns all its records. Each page begins below the last id of the page before. */
export async function readAllPages<Id, Row extends { readonly id: Id }>(
  readPage: (before: Id | null, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const page = await readPage(all.at(-1)?.id ?? null, PAGE);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

/** The same for a list whose pages may end early. The next page begins where the scan of the page before ended. */
export async function readAllScans<Id, Row extends PageRow<Id> & { readonly id: Id }>(
  readPage: (before: Id | null, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (let before: Id | null = null; ; ) {
    const { records, next }: { records: Row[]; next: Id | null } = cutPage(await readPage(before, PAGE + 1), PAGE, ({ id }) => id);
    all.push(...records);
    if (next === null) return all;
    before = next;
  }
}
