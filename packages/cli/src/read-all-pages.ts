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
