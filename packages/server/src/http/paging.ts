import type { Readable } from "node:stream";
import type { PageParameters } from "@tidemill/contract";
import { invalid, type JsonParts } from "#kernel";
import { jsonItems, jsonText } from "./json-text.ts";

const DEFAULT_LIMIT = 50;

/** What the description of a list says about pages that end early. */
export const PAGE_END =
  "A page ends early, even without records, after 10,000 records that the filters left out, or with 4 MiB of payloads and results: only " +
  "a `next_cursor` of null means the end.";

/** A page as JSON text. */
export const pageOf = (records: readonly JsonParts[], nextCursor: string | null): string | Readable =>
  jsonText([`{"data":[`, ...jsonItems(records), `],"next_cursor":${JSON.stringify(nextCursor)}}`]);

export interface Page<Key> {
  readonly limit: number;
  /** The page starts after this record. Null starts with the newest. */
  readonly after: Key | null;
}

/**
 * Reads a list's `limit` and `cursor`.
 *
 * @param readKey returns the key that a cursor stands for, or null for a text that is not a cursor
 * @throws VALIDATION_ERROR for a text that is not a cursor
 */
export function readPage<Key>(query: PageParameters, readKey: (cursor: string) => Key | null): Page<Key> {
  const after = query.cursor === undefined ? null : readKey(query.cursor);
  if (query.cursor !== undefined && after === null) throw invalid("cursor", "must be a next_cursor that this list returned");
  return { limit: query.limit ?? DEFAULT_LIMIT, after };
}

/** Cuts a page from rows of a store, which selects one more than `limit`. The extra row shows that there is another page. */
export function nextPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string): { rows: Row[]; nextCursor: string | null } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), nextCursor: last === undefined ? null : cursorOf(last) };
}
