import type { PageParameters } from "@tidemill/contract";
import { invalid } from "#kernel";

const DEFAULT_LIMIT = 50;

export interface Page<Key> {
  readonly limit: number;
  /** Records after this one, or from the newest when null. */
  readonly after: Key | null;
}

/**
 * Reads a list's `limit` and `cursor`.
 *
 * @param readKey the key that a cursor stands for; null when it is none
 * @throws VALIDATION_ERROR for a cursor that no page gave
 */
export function readPage<Key>(query: PageParameters, readKey: (cursor: string) => Key | null): Page<Key> {
  const after = query.cursor === undefined ? null : readKey(query.cursor);
  if (query.cursor !== undefined && after === null) throw invalid("cursor", "is not a cursor that a list gave");
  return { limit: query.limit ?? DEFAULT_LIMIT, after };
}

/** The number that a cursor of base 36 stands for, or null. */
export function readNumber(cursor: string): number | null {
  const id = /^[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor, 36) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
}

export const showNumber = (id: number): string => id.toString(36);

/** Splits off what shows that there is another page: stores select one record more than `limit`. */
export function nextPage<Row>(rows: Row[], limit: number, cursorOf: (row: Row) => string): { rows: Row[]; nextCursor: string | null } {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), nextCursor: last === undefined ? null : cursorOf(last) };
}
