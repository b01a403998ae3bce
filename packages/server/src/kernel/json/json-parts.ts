/**
 * JSON text in parts, with long values as parts of their own. As one string it would be copied as a whole: V8 copies a concatenated string
 * when it is cut, encoded or read.
 */
export type JsonParts = readonly string[];

/** Shorter texts are encoded as one string, which is faster. Characters. */
const FEW_CHARACTERS = 64 * 1024;

/** The length of a text. Characters. */
export const lengthOfParts = (parts: JsonParts): number => parts.reduce((sum, { length }) => sum + length, 0);

/** A text as UTF-8. */
export function encodeParts(parts: JsonParts): Buffer {
  if (lengthOfParts(parts) <= FEW_CHARACTERS) return Buffer.from(parts.join(""));
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0));
  let at = 0;
  for (const part of parts) at += bytes.write(part, at);
  return bytes;
}
