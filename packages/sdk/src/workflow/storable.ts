/** Whether the service can store a text: PostgreSQL has no NUL, and UTF-8 no lone surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");
