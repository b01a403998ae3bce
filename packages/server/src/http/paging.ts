import type { PageParameters } from "@tidemill/contract";
import { invalid } from "#kernel";

const DEFAULT_LIMIT = 50;

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

/** The number that a base 36 cursor stands for, or null. */
export function readNumber(cursor: string): number | null {
  const id = /^[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor, 36) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
}

export const showNumber = (id: number): string => id.toString(36);

/** Cuts a page from rows of a store, which selects one more than `limit`. The extra row shows that there is another page. */
export function nextPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string): { rows: Row[]; nextCursor: string | null } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), nextCursor: last === undefined ? null : cursorOf(last) };
}
