/** The error of an attempt in a cell of a table. */
export const errorText = (error: { readonly code: string; readonly message: string } | null): string | null =>
  error && `${error.code}: ${error.message}`;
