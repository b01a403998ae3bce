import { isUtf8 } from "node:buffer";

/** The exact source text of one JSON value, without surrounding white space. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export class JsonBodyError extends Error {
  override readonly name = "JsonBodyError";
  readonly reason: "empty" | "not_utf8" | "syntax" | "too_deep";
  constructor(reason: JsonBodyError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Parses a request body, and keeps the member `rawMember` (an ASCII name) as the client wrote it: it becomes a
 * {@link RawJson} in the top-level object and in the objects of a top-level array or of the top-level member `jobs`,
 * nowhere deeper. Of a member given twice the last one counts. Its nesting is counted apart from the envelope's.
 *
 * Elsewhere a member `__proto__`, or `constructor` with a `prototype` in it, is refused: copying or merging it does
 * harm. Numbers there are JavaScript's: 1e400 becomes Infinity, which the schemas have to refuse.
 *
 * @throws {JsonBodyError}
 */
export function parseJsonBody(bytes: Buffer, options: { maxDepth: number; rawMember: string | null }): unknown {
  if (bytes.length === 0) throw new JsonBodyError("empty", "The body is empty; it must be JSON.");
  const text = bytes.toString();
  // Bytes that are not UTF-8 decode to U+FFFD, so most bodies need no second look.
  if (text.includes("\uFFFD") && !isUtf8(bytes)) throw new JsonBodyError("not_utf8", "The body is not valid UTF-8.");
  // First, because JSON.parse would build any depth. Up to where JSON.parse gives up, both see the same tokens.
  const kept = scan(bytes, options.maxDepth, options.rawMember);
  const value = parse(text);
  if (options.rawMember !== null) putInto(value, options.rawMember, kept);
  if (poisons(value)) throw new JsonBodyError("syntax", 'The body has a "__proto__" or "constructor.prototype" in it.');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.length > LOCATED_CHARACTERS) throw new JsonBodyError("syntax", "The body is not valid JSON.");
    const at = syntaxErrorAt(text);
    const found = at === text.length ? "it ends too early" : `unexpected ${named(text.codePointAt(at) ?? 0)}`;
    throw new JsonBodyError("syntax", `The body is not valid JSON: ${found} at ${place(text.slice(0, at))}.`);
  }
}

const named = (code: number): string =>
  code > 0x20 && code < 0x7f ? String.fromCharCode(code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

function place(before: string): string {
  let line = 1;
  for (let i = 0; i < before.length; i++) if (before.charCodeAt(i) === 10) line++;
  return `line ${line}, column ${before.length - before.lastIndexOf("\n")}`;
}

/** A longer body is refused without a position, because finding it takes far longer than parsing. */
const LOCATED_CHARACTERS = 262_144;
const SPACE = /[ \t\r\n]*/y;
const CHARACTERS = /(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** The index at which a text that JSON.parse refuses stops being JSON. */
function syntaxErrorAt(text: string): number {
  let at = 0;
  const is = (mark: string): boolean => text[at] === mark && ++at > 0;
  const take = (token: RegExp): boolean => {
    token.lastIndex = at;
    const taken = token.test(text);
    if (taken) at = token.lastIndex;
    return taken;
  };
  const string = (): boolean => is('"') && take(CHARACTERS) && is('"');
  const member = (): boolean => take(SPACE) && string() && take(SPACE) && is(":") && value();
  const list = (item: () => boolean, close: string): boolean => {
    if (take(SPACE) && is(close)) return true;
    while (item()) if (!is(",")) return is(close);
    return false;
  };
  const one = (): boolean => (is("{") ? list(member, "}") : is("[") ? list(value, "]") : string() || take(SCALAR));
  const value = (): boolean => take(SPACE) && one() && take(SPACE);
  value();
  return at;
}

function poisons(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(poisons);
  for (const key in value) {
    if (key === "__proto__") return true;
    const inner: unknown = value[key as keyof typeof value];
    if (typeof inner !== "object" || inner === null) continue;
    if ((key === "constructor" && Object.hasOwn(inner, "prototype")) || poisons(inner)) return true;
  }
  return false;
}

type Members = Record<string, unknown>;
type Kept = { own: RawJson | null; items: { index: number; raw: RawJson }[] };

function putInto(value: unknown, name: string, { own, items }: Kept): void {
  if (own !== null) (value as Members)[name] = own;
  if (items.length === 0) return;
  const list = (Array.isArray(value) ? value : (value as Members).jobs) as Members[];
  for (const { index, raw } of items) (list[index] as Members)[name] = raw;
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Checks the depth and cuts out the raw members, in one pass; whether it is JSON at all is for JSON.parse to say. */
function scan(bytes: Buffer, maxDepth: number, rawMember: string | null): Kept {
  const kept: Kept = { own: null, items: [] };
  let depth = 0;
  let rawStart = 0;
  let rawDepth = -1; // the depth of the object whose raw member is being read
  let index = 0;
  let at = afterSpace(bytes, 0);
  let listDepth = bytes[at] === OPEN_LIST ? 1 : -1; // the depth of the list whose objects have raw members
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const key = at;
      at = closingQuote(bytes, at);
      if (rawMember === null || rawDepth >= 0 || (depth !== 1 && depth !== listDepth + 1)) continue;
      const colon = afterSpace(bytes, at + 1);
      if (bytes[colon] !== COLON) continue;
      const start = afterSpace(bytes, colon + 1);
      if (spells(bytes, key, at, rawMember)) {
        rawStart = start;
        rawDepth = depth;
      } else if (depth === 1 && spells(bytes, key, at, "jobs")) {
        kept.items = [];
        index = 0;
        listDepth = bytes[start] === OPEN_LIST ? 2 : -1;
      }
      at = start - 1;
    } else if (byte === OPEN || byte === OPEN_LIST) {
      depth++;
      if (depth - Math.max(rawDepth, 0) > maxDepth) throw tooDeep(bytes, at, maxDepth);
    } else if (byte === COMMA || byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === rawDepth) {
        // A copy, not a slice of the body's text: a small payload must not hold a batch of 16 MiB in memory.
        const raw = new RawJson(bytes.toString("utf8", rawStart, beforeSpace(bytes, at)));
        if (depth === 1) kept.own = raw;
        else kept.items.push({ index, raw });
        rawDepth = -1;
      }
      if (byte === COMMA) index += depth === listDepth ? 1 : 0;
      else if (--depth === 1 && listDepth === 2) listDepth = -1;
    }
  }
  return kept;
}

function closingQuote(bytes: Buffer, opening: number): number {
  let at = opening + 1;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) at++;
  }
  return at;
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && isSpace(bytes[at])) at++;
  return at;
}

function beforeSpace(bytes: Buffer, end: number): number {
  let at = end;
  while (at > 0 && isSpace(bytes[at - 1])) at--;
  return at;
}

/** Whether the string between two quotes spells `name`, be it with escapes. */
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

function tooDeep(bytes: Buffer, at: number, maxDepth: number): JsonBodyError {
  const where = place(bytes.toString("utf8", 0, at));
  return new JsonBodyError("too_deep", `The body nests arrays and objects more than ${maxDepth} deep at ${where}.`);
}
