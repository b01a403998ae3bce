import { afterSpace, JSON_SLICE_BYTES, JsonDepthError, JsonLimitError, JsonValueScan, type SlicedWork } from "#kernel";
import { RawTexts } from "./raw-texts.ts";

/** A body without its raw members. */
interface Separated {
  /** The body's text, in which a number stands for each raw member: its index. */
  readonly rest: string;
  readonly raw: readonly string[];
}

/** Limits on everything outside of raw members, which is parsed in one piece. A batch of 1,000 jobs with all their fields needs less. */
const MAX_VALUES = 16_000;
const MAX_REST_BYTES = 3 * 1024 * 1024;

// Constants of this file: imported ones are loaded again at each comparison.
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Takes the raw members `name` out of a body, and checks their syntax and depth, in one pass. Raw members are members of the body's object
 * and, if the body is an array or has an array `list`, of the objects in that array. The syntax of the rest is not checked: `JSON.parse`
 * does that. Every body passes through here, so this scans bytes, which are read faster than the characters of a string.
 *
 * @throws {JsonSyntaxError}, {JsonDepthError}, {JsonLimitError}
 */
export function* takeOutRawMembers(bytes: Buffer, maxDepth: number, name: string | null, list: string): SlicedWork<Separated> {
  const raw = new RawTexts(bytes);
  const rest = new Rest(bytes);
  let depth = 0;
  let values = 0;
  let at = afterSpace(bytes, 0);
  let listDepth = bytes[at] === OPEN_ARRAY ? 1 : -1; // the depth of the list whose objects have raw members
  for (let pauseAt = JSON_SLICE_BYTES; at < bytes.length; at += 1) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + JSON_SLICE_BYTES;
    }
    const byte = bytes[at];
    if (byte === QUOTE) {
      const key = at;
      at = closingQuote(bytes, at + 1, pauseAt);
      while (bytes[at] !== QUOTE && at < bytes.length) {
        yield;
        pauseAt = at + JSON_SLICE_BYTES;
        at = closingQuote(bytes, at, pauseAt);
      }
      if (name === null || (depth !== 1 && depth !== listDepth + 1)) continue;
      const colon = afterSpace(bytes, at + 1);
      if (bytes[colon] !== COLON) continue;
      const start = afterSpace(bytes, colon + 1);
      if (spells(bytes, key, at, name)) {
        const scan = new JsonValueScan(bytes, start, maxDepth);
        while (!scan.advance()) yield;
        rest.replace(start, scan.at, raw.count);
        if (raw.add(start, scan.at)) yield* raw.readAdded();
        at = scan.at - 1;
        values += 1;
      } else {
        if (depth === 1 && spells(bytes, key, at, list)) listDepth = bytes[start] === OPEN_ARRAY ? 2 : -1;
        at = start - 1;
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) throw new JsonDepthError(at);
    } else if (byte === COMMA) values += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      if (depth === 1 && listDepth === 2) listDepth = -1;
    }
    if (values > MAX_VALUES) throw new JsonLimitError(`has more than ${MAX_VALUES} values${outside(name)}`);
    if (rest.lengthUntil(at) > MAX_REST_BYTES) throw new JsonLimitError(`has more than ${MAX_REST_BYTES} bytes${outside(name)}`);
  }
  yield* raw.readAdded();
  return { rest: rest.text(), raw: raw.all };
}

/** The text of a body in which numbers replace some values. */
class Rest {
  readonly #bytes: Buffer;
  /** The text before `#from`. */
  #text = "";
  #length = 0;
  #from = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The number of bytes that the rest has up to an index of the body. */
  lengthUntil(at: number): number {
    return this.#length + at - this.#from;
  }

  /** Replaces the bytes from `start` to `end` with a number. */
  replace(start: number, end: number, index: number): void {
    // The space keeps what follows apart.
    const number = `${index} `;
    this.#text += this.#bytes.toString("utf8", this.#from, start) + number;
    this.#length += start - this.#from + number.length;
    this.#from = end;
  }

  text(): string {
    return this.#text + this.#bytes.toString("utf8", this.#from);
  }
}

const outside = (name: string | null): string => (name === null ? "" : ` outside of "${name}"`);

/** The index of the quote that ends a string, or an index from `limit` on if the string continues there. */
function closingQuote(bytes: Buffer, start: number, limit: number): number {
  let at = start;
  for (; at < limit; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return at;
}

/** Whether the string between two quotes spells `name`, perhaps with escapes. */
function spells(bytes: Buffer, opening: number, closing: number, name: string): boolean {
  const length = closing - opening - 1;
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[opening + 1 + i];
    if (byte === name.charCodeAt(i)) continue;
    if (byte !== BACKSLASH || length > 6 * name.length) return false;
    const source = bytes.toString("utf8", opening + 1, closing);
    return source.replace(/\\u([\da-fA-F]{4})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))) === name;
  }
  return length === name.length;
}
