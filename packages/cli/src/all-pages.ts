/** Records of one page. */
const PAGE = 100;

/** All records of a list that is read page by page, each from below the id that the one before ended with. */
export async function allPages<Id, Row extends { readonly id: Id }>(
  readPage: (before: Id | null, most: number) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const page = await readPage(all.at(-1)?.id ?? null, PAGE);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
