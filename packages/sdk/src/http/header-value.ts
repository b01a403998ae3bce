const VALUE = /^[\x20-\x7e]*$/;

/** Whether a header that the client sends may have this value. HTTP allows more, which nothing here needs. */
export const isHeaderValue = (value: string): boolean => VALUE.test(value);
