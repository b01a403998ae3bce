import { isUtf8 } from "node:buffer";
import { positionAfter, syntaxErrorAt } from "#kernel";

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
 * Parses a request body, and keeps the member `rawMember` (an ASCII name) as the client wrote it. It becomes a
 * {@link RawJson} in the top-level object, and in the objects of a top-level array or of the top-level member `jobs`,
 * but nowhere deeper. Of duplicate members the last one counts. The nesting of a raw member is counted separately.
 *
 * Outside raw members, `__proto__` and a `constructor` with a `prototype` in it are refused, because copying or merging them is
 * unsafe. Numbers there are parsed as JavaScript does: 1e400 becomes Infinity, which the schemas have to refuse.
 *
 * @throws {JsonBodyError}
 */
export function parseJsonBody(bytes: Buffer, options: { maxDepth: number; rawMember: string | null }): unknown {
  if (bytes.length === 0) throw new JsonBodyError("empty", "The body is empty; it must be JSON.");
  const text = bytes.toString();
  // Bytes that are not UTF-8 decode to U+FFFD, so most bodies need no second check.
  if (text.includes("\uFFFD") && !isUtf8(bytes)) throw new JsonBodyError("not_utf8", "The body is not valid UTF-8.");
  // Before JSON.parse, which would build any depth. Both see the same tokens, up to the first that JSON.parse refuses.
  const raw = readRawMembers(bytes, options.maxDepth, options.rawMember);
  const value = parse(text);
  if (options.rawMember !== null) setRawMembers(value, options.rawMember, raw);
  if (hasPrototypeMember(value)) throw new JsonBodyError("syntax", 'The body contains "__proto__" or "constructor.prototype".');
  return value;
}

/** The error of a longer body has no position, because finding it takes far longer than parsing. */
const MAX_LOCATED_CHARACTERS = 262_144;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.length > MAX_LOCATED_CHARACTERS) throw new JsonBodyError("syntax", "The body is not valid JSON.");
    const at = syntaxErrorAt(text);
    const found = at === text.length ? "it ends too early" : `unexpected ${named(text.codePointAt(at) ?? 0)}`;
    throw new JsonBodyError("syntax", `The body is not valid JSON: ${found} at ${positionAfter(text.slice(0, at))}.`);
  }
}

const named = (code: number): string =>
  code > 0x20 && code < 0x7f ? String.fromCharCode(code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

function hasPrototypeMember(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasPrototypeMember);
  for (const key in value) {
    if (key === "__proto__") return true;
    const inner: unknown = value[key as keyof typeof value];
    if (typeof inner !== "object" || inner === null) continue;
    if ((key === "constructor" && Object.hasOwn(inner, "prototype")) || hasPrototypeMember(inner)) return true;
  }
  return false;
}

type Members = Record<string, unknown>;
/** The raw member of the top-level object, and those of the objects in a list. */
type RawMembers = { own: RawJson | null; items: { index: number; raw: RawJson }[] };

function setRawMembers(value: unknown, name: string, { own, items }: RawMembers): void {
  if (own !== null) (value as Members)[name] = own;
  if (items.length === 0) return;
  const list = (Array.isArray(value) ? value : (value as Members).jobs) as Members[];
  for (const { index, raw } of items) (list[index] as Members)[name] = raw;
}

// Not imported from the kernel, because an imported constant is loaded again at each comparison.
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks the depth and copies the raw members in one pass. It does not check the syntax: JSON.parse does. Every body passes through
 * here, so it scans bytes: walking a string with `nextToken` took up to a fifth more processor time for the whole parse.
 */
function readRawMembers(bytes: Buffer, maxDepth: number, rawMember: string | null): RawMembers {
  const found: RawMembers = { own: null, items: [] };
  let depth = 0;
  let rawStart = 0;
  let rawDepth = -1; // the depth of the object whose raw member is being read
  let index = 0;
  let at = afterSpace(bytes, 0);
  let listDepth = bytes[at] === OPEN_ARRAY ? 1 : -1; // the depth of the list whose objects have raw members
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
        found.items = [];
        index = 0;
        listDepth = bytes[start] === OPEN_ARRAY ? 2 : -1;
      }
      at = start - 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++;
      if (depth - Math.max(rawDepth, 0) > maxDepth) throw tooDeep(bytes, at, maxDepth);
    } else if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === rawDepth) {
        // A copy, not a slice of the body's text: a small payload must not hold a batch of 16 MiB in memory.
        const raw = new RawJson(bytes.toString("utf8", rawStart, beforeSpace(bytes, at)));
        if (depth === 1) found.own = raw;
        else found.items.push({ index, raw });
        rawDepth = -1;
      }
      if (byte === COMMA) index += depth === listDepth ? 1 : 0;
      else if (--depth === 1 && listDepth === 2) listDepth = -1;
    }
  }
  return found;
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

function tooDeep(bytes: Buffer, at: number, maxDepth: number): JsonBodyError {
  const where = positionAfter(bytes.toString("utf8", 0, at));
  return new JsonBodyError("too_deep", `The body nests arrays and objects more than ${maxDepth} deep at ${where}.`);
}
