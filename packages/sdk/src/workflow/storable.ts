/** Whether the service can store a text: PostgreSQL does not support NUL, and UTF-8 does not support lone surrogates. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");
