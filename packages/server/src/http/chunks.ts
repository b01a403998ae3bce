import type { Readable } from "node:stream";

/** A longer text is sent in chunks: encoding 16 MB in one piece holds the event loop for 40 ms. Characters. */
export const MAX_CHUNK = 256 * 1024;
/** A longer part of a text has chunks of its own. Characters. */
const MAX_JOINED = 64 * 1024;

/**
 * Cuts a text into chunks.
 *
 * @param parts parts of the text. Only short parts are joined, because joining copies them
 */
export function* chunksOf(parts: Iterable<string>): Generator<string, void> {
  let short: string[] = [];
  let characters = 0;
  for (const part of parts) {
    const isLong = part.length > MAX_JOINED;
    if (characters > 0 && (isLong || characters + part.length > MAX_CHUNK)) {
      yield short.join("");
      short = [];
      characters = 0;
    }
    if (isLong) yield* piecesOf(part);
    else {
      short.push(part);
      characters += part.length;
    }
  }
  if (characters > 0) yield short.join("");
}

function* piecesOf(text: string): Generator<string, void> {
  for (let at = 0; at < text.length; ) {
    let end = at + MAX_CHUNK;
    // Both halves of a character must be encoded together.
    if (isFirstHalf(text.charCodeAt(end - 1))) end += 1;
    yield text.slice(at, end);
    at = end;
  }
}

/** Passes chunks on, about `MAX_CHUNK` characters of them: some are short. Returns false when there were none. */
export function pushSome(to: Readable, chunks: Iterator<string, void>): boolean {
  let characters = 0;
  while (characters < MAX_CHUNK) {
    const { value, done } = chunks.next();
    if (done) break;
    characters += value.length;
    to.push(value);
  }
  return characters > 0;
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
