/**
 * Finds the tokens of JSON text without parsing it: strings, scalars (numbers and literals) and the six structural characters. The
 * functions accept any text and never throw. They do not check the syntax; `JSON.parse` does. Text that holds UTF-8 with one character
 * per byte works too, because every byte of the syntax is ASCII.
 *
 * ```ts
 * for (let at = nextToken(text, 0), end: number; at < text.length; at = nextToken(text, end)) end = tokenEnd(text, at);
 * ```
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
const BACKSLASH = 0x5c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Whether a character is one of the six structural ones. */
export const isStructure = (code: number): boolean =>
  code === COMMA || code === COLON || code === OPEN_ARRAY || code === CLOSE_ARRAY || code === OPEN_OBJECT || code === CLOSE_OBJECT;

/** The index of the first token at or after `from`; the length of the text when there is none. */
export function nextToken(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** The index after the token that starts at `start`. */
export function tokenEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return stringEnd(text, start);
  if (isStructure(first)) return start + 1;
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || isStructure(code) || isSpace(code)) break;
  }
  return at;
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}
