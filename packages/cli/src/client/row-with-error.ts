interface Failing {
  readonly last_error: { readonly code: string; readonly message: string } | null;
}

/** The row of a record in a table, with its last error as text in the column `error`. */
export const rowWithError = ({ last_error, ...record }: Failing): object => ({
  ...record,
  error: last_error && `${last_error.code}: ${last_error.message}`,
});
