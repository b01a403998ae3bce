import { LIMITS } from "@tidemill/contract";
import { Fragment, fragment } from "./sql.ts";

/**
 * The maximum number of rows that a list reads for one page when no index serves its filters. The page ends there, with what was found, and
 * the next page continues after the last row that was read.
 */
export const MAX_SCANNED_ROWS = 10_000;
/** The maximum size of payloads and results on a page. A page has at least one record. Bytes. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** How large the response with such a page may be: the last record may reach beyond the page's bytes. */
export const PAGE_RESPONSE_BYTES = MAX_PAGE_BYTES + LIMITS.payloadBytes;

/** What a statement that ends with `CUT_PAGE` returns in addition to the record. A page without records is one row without a record. */
export interface PageRow<Key> {
  /** The last row that the scan read. Null: it came to the end of the list. */
  readonly reached: Key | null;
  /** How many records were found, including those that do not fit. Null: none. */
  readonly found: number | null;
}

const MAX_BYTES = new Fragment(String(MAX_PAGE_BYTES));

/**
 * Ends a statement that lists records, newest first. From CTE `matched`, which has `id`, `payload` and `result`, it takes the records of
 * the part that all scans have read, down to `end_id` of CTE `reached`; of these the first `records` of CTE `requested`; and of these as
 * many as fit on a page. Lengths are known without reading the texts.
 */
export const CUT_PAGE = fragment`
  select end_id as reached, p.*
  from reached left join lateral (
    select * from (
      select *, count(*) over () as found, row_number() over (order by id desc) as place,
        sum(octet_length(payload) + coalesce(octet_length(result), 0)) over (order by id desc rows unbounded preceding) as bytes
      from (
        select * from matched where end_id is null or id >= end_id order by id desc limit (select records from requested)
      ) newest
    ) measured
    where place = 1 or bytes <= ${MAX_BYTES}
  ) p on true
  order by p.id desc`;

/** Cuts a page from the rows of a list. Its statement selects one record more than `limit`, which shows that there is another page. */
export function cutPage<Key, Row extends PageRow<Key>>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => Key,
): { records: Row[]; next: Key | null } {
  const records = rows.filter(({ found }) => found !== null).slice(0, limit);
  const last = records.at(-1);
  const isCut = last !== undefined && (last.found ?? 0) > records.length;
  return { records, next: isCut ? keyOf(last) : (rows[0]?.reached ?? null) };
}
