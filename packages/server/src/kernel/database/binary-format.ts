/** What PostgreSQL's binary format has instead of a length for a null. */
export const NULL_LENGTH = -1;
export const INT32_BYTES = 4;

/** PostgreSQL's `oid` of the type text. */
const TEXT_OID = 25;
const FIRST_INDEX = 1;

export const ARRAY_HEADER_BYTES = 5 * INT32_BYTES;

/**
 * The numbers at the beginning of an array of texts: dimensions, whether it has nulls, type, size, first index. Each value's length and
 * bytes follow.
 */
export const arrayHeaderOf = (values: readonly (string | null)[]): readonly number[] => [
  1,
  Number(values.includes(null)),
  TEXT_OID,
  values.length,
  FIRST_INDEX,
];
