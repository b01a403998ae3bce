/** A number that JavaScript might not represent exactly has this many digits, or an exponent. */
const MAY_LOSE_DIGITS = /[\d.]{16}|\d[eE]/;

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };

/** Keeps the text of a number that JavaScript would write differently. */
const keepDigits: Reviver = (_key, value, context) => {
  if (typeof value !== "number" || context?.source === undefined || String(value) === context.source) return value;
  return rawJSON?.(context.source) ?? value;
};

/**
 * Parses JSON so that `JSON.stringify` writes numbers as they were. On Node 20 numbers with more than 15 digits may lose some.
 *
 * @throws {SyntaxError}
 */
export const parseExactly = (text: string): unknown => (MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text));
