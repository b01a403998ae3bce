/** Bytes that are not JSON. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/** A value nests arrays and objects too deep. */
export class JsonDepthError extends Error {
  override readonly name = "JsonDepthError";
  /** Where the first bracket that is too deep stands. */
  readonly at: number;

  constructor(at: number) {
    super(`The JSON nests too deep at byte ${at}.`);
    this.at = at;
  }
}

/**
 * JSON that is valid, but beyond a limit that no real document reaches. The message is the rest of a sentence that begins with "The body".
 */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
}

/** Work on JSON pauses after about this many bytes, which take less than half a millisecond. */
export const JSON_SLICE_BYTES = 64 * 1024;

/** The maximum number of digits of a number, or of consecutive white space characters. */
const MAX_RUN = 2 * 1024 * 1024;

// Constants of this file: imported ones are loaded again at each comparison.
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [MINUS, PLUS, DOT, ZERO, NINE, LOWER_U] = [0x2d, 0x2b, 0x2e, 0x30, 0x39, 0x75];
const LITERALS = ["true", "false", "null"].map((literal) => Buffer.from(literal));
const IS_ESCAPED = flags('"\\/bfnrt');
const IS_HEX = flags("0123456789abcdefABCDEF");
const IS_EXPONENT = flags("eE");

/** What may come next. */
const [VALUE, FIRST_ITEM, FIRST_NAME, NAME, NAME_END, VALUE_END, IN_STRING, IN_NAME] = [0, 1, 2, 3, 4, 5, 6, 7];

/**
 * Finds the end of a JSON value without building the value. It accepts what `JSON.parse` does, for bytes that are UTF-8. It can pause,
 * because a large value takes long. Source: RFC 8259.
 *
 * ```ts
 * const scan = new JsonValueScan(bytes, start, maxDepth);
 * while (!scan.advance()) yield;
 * const end = scan.at;
 * ```
 */
export class JsonValueScan {
  /** Where the scan is; at its end, the index after the value. */
  at: number;
  readonly #bytes: Buffer;
  readonly #maxDepth: number;
  /** For each open array or object, whether it is an object. */
  readonly #inObject: boolean[] = [];
  #state = VALUE;

  constructor(bytes: Buffer, start: number, maxDepth: number) {
    this.#bytes = bytes;
    this.at = start;
    this.#maxDepth = maxDepth;
  }

  /**
   * Scans one slice. Returns whether the value ended.
   *
   * @throws {JsonSyntaxError}, {JsonDepthError}, {JsonLimitError}
   */
  advance(): boolean {
    const bytes = this.#bytes;
    const open = this.#inObject;
    const pauseAt = this.at + JSON_SLICE_BYTES;
    let inObject = open.at(-1) === true;
    let state = this.#state;
    let at = this.at;
    while (at < pauseAt) {
      if (state >= IN_STRING) {
        at = charactersEnd(bytes, at, pauseAt);
        if (bytes[at] !== QUOTE) continue;
        at += 1;
        state = state === IN_NAME ? NAME_END : VALUE_END;
      }
      if (state === VALUE_END && open.length === 0) {
        this.at = at;
        return true;
      }
      at = afterSpace(bytes, at);
      const byte = bytes[at];
      if (byte === QUOTE) {
        if (state === VALUE_END || state === NAME_END) throw new JsonSyntaxError();
        at += 1;
        state = state === NAME || state === FIRST_NAME ? IN_NAME : IN_STRING;
      } else if (state === NAME_END) {
        if (byte !== COLON) throw new JsonSyntaxError();
        at += 1;
        state = VALUE;
      } else if (state === VALUE_END && byte === COMMA) {
        at += 1;
        state = inObject ? NAME : VALUE;
      } else if (state !== VALUE && state !== NAME && byte === (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        open.pop();
        inObject = open.at(-1) === true;
        at += 1;
        state = VALUE_END;
      } else if (state === VALUE_END || state === NAME || state === FIRST_NAME) throw new JsonSyntaxError();
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
        if (open.length === this.#maxDepth) throw new JsonDepthError(at);
        inObject = byte === OPEN_OBJECT;
        open.push(inObject);
        at += 1;
        state = inObject ? FIRST_NAME : FIRST_ITEM;
      } else {
        at = byte === MINUS || isDigit(byte) ? numberEnd(bytes, at) : literalEnd(bytes, at);
        state = VALUE_END;
      }
    }
    this.at = at;
    this.#state = state;
    return false;
  }
}

/** The index of the closing quote, or an index from `limit` on if the string continues there. */
function charactersEnd(bytes: Buffer, start: number, limit: number): number {
  let at = start;
  for (; at < limit; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at = escapeEnd(bytes, at + 1);
    else if (byte === undefined || byte < 0x20) throw new JsonSyntaxError();
  }
  return at;
}

/** The index of the last byte of an escape sequence, from the one after the backslash. */
function escapeEnd(bytes: Buffer, at: number): number {
  if (IS_ESCAPED[bytes[at] ?? 0] === 1) return at;
  if (bytes[at] !== LOWER_U) throw new JsonSyntaxError();
  for (let digit = at + 1; digit <= at + 4; digit += 1) if (IS_HEX[bytes[digit] ?? 0] !== 1) throw new JsonSyntaxError();
  return at + 4;
}

function numberEnd(bytes: Buffer, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  at = bytes[at] === ZERO ? at + 1 : digitsEnd(bytes, at);
  if (bytes[at] === DOT) at = digitsEnd(bytes, at + 1);
  if (IS_EXPONENT[bytes[at] ?? 0] !== 1) return at;
  at += 1;
  return digitsEnd(bytes, bytes[at] === PLUS || bytes[at] === MINUS ? at + 1 : at);
}

function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at]) && at - start <= MAX_RUN) at += 1;
  if (at === start) throw new JsonSyntaxError();
  if (at - start > MAX_RUN) throw new JsonLimitError(`has a number of more than ${MAX_RUN} digits`);
  return at;
}

function literalEnd(bytes: Buffer, start: number): number {
  for (const literal of LITERALS) {
    if (
      literal[0] === bytes[start] &&
      bytes.compare(literal, 0, literal.length, start, Math.min(start + literal.length, bytes.length)) === 0
    )
      return start + literal.length;
  }
  throw new JsonSyntaxError();
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;

/** The index of the first byte from `start` on that is not white space. */
export function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
    if (at - start > MAX_RUN) throw new JsonLimitError(`has more than ${MAX_RUN} characters of white space in a row`);
  }
}

function flags(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
