/** A number that JavaScript might write differently has this many digits, an exponent, or a zero that means nothing. */
const MAY_CHANGE = /[\d.]{16}|\d[eE]|\.\d*0(?!\d)|-0/;

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Keeps the text of a number that JavaScript would write differently. */
const keepText: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || context?.source === undefined || JSON.stringify(value) === context.source) return value;
  return rawJSON(context.source);
};

/**
 * Parses JSON so that `JSON.stringify` writes every number as it was. A number that JavaScript would write differently, like
 * 12345678901234567890 or 1.0, is an object that only `JSON.stringify` can read.
 *
 * @throws {SyntaxError}
 */
export const parseExactly = (text: string): unknown => (MAY_CHANGE.test(text) ? JSON.parse(text, keepText) : JSON.parse(text));
