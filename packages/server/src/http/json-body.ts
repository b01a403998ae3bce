import { isUtf8 } from "node:buffer";
import {
  afterSpace,
  JsonDepthError,
  JsonLimitError,
  JsonSyntaxError,
  JsonValueScan,
  positionAfter,
  type SlicedWork,
  syntaxErrorAt,
} from "#kernel";
import { takeOutRawMembers } from "./raw-members.ts";

/** The exact source text of one JSON value, without surrounding white space. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export class JsonBodyError extends Error {
  override readonly name = "JsonBodyError";
  readonly reason: "empty" | "not_utf8" | "syntax" | "too_deep" | "too_large";
  constructor(reason: JsonBodyError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface JsonBodyOptions {
  readonly maxDepth: number;
  /** The member whose values stay text. Null when the body has none. */
  readonly rawMember: string | null;
  /** The top-level member whose objects also have raw members. Default: `jobs`. */
  readonly rawList?: string | undefined;
}

/**
 * Parses a request body, and keeps the member `rawMember` (an ASCII name) as the client wrote it. It becomes a
 * {@link RawJson} in the top-level object, and in the objects of a top-level array or of the top-level member `rawList`,
 * but nowhere deeper. Of duplicate members the last one counts. The nesting of a raw member is counted separately.
 *
 * Outside of raw members, `__proto__` and a `constructor` with a `prototype` in it are refused, because copying or merging them is unsafe.
 * Numbers there are parsed as JavaScript does: 1e400 becomes Infinity, which the schemas have to refuse.
 *
 * @throws {JsonBodyError}
 */
export function* parseJsonBody(bytes: Buffer, { maxDepth, rawMember, rawList = "jobs" }: JsonBodyOptions): SlicedWork<unknown> {
  if (bytes.length === 0) throw new JsonBodyError("empty", "The body is empty; it must be JSON.");
  if (!isUtf8(bytes)) throw new JsonBodyError("not_utf8", "The body is not valid UTF-8.");
  try {
    const { rest, raw } = yield* takeOutRawMembers(bytes, maxDepth, rawMember, rawList);
    const value: unknown = JSON.parse(rest);
    if (rawMember !== null && raw.length > 0) putBack(value, rawMember, raw, rawList);
    if (hasPrototypeMember(value)) throw new JsonBodyError("syntax", 'The body contains "__proto__" or "constructor.prototype".');
    return value;
  } catch (error) {
    throw explained(error, bytes, maxDepth);
  }
}

/**
 * Checks a request body, and keeps it as the client wrote it. An empty body is null.
 *
 * @throws {JsonBodyError}
 */
export function* readRawBody(bytes: Buffer, maxDepth: number): SlicedWork<RawJson> {
  if (bytes.length === 0) return new RawJson("null");
  if (!isUtf8(bytes)) throw new JsonBodyError("not_utf8", "The body is not valid UTF-8.");
  try {
    const start = afterSpace(bytes, 0);
    const scan = new JsonValueScan(bytes, start, maxDepth);
    while (!scan.advance()) yield;
    if (afterSpace(bytes, scan.at) < bytes.length) throw new JsonSyntaxError();
    return new RawJson(bytes.toString("utf8", start, scan.at));
  } catch (error) {
    throw explained(error, bytes, maxDepth);
  }
}

type Members = Record<string, unknown>;

/** Puts the raw members in the places of their numbers. */
function putBack(value: unknown, name: string, raw: readonly string[], listName: string): void {
  const putInto = (container: unknown): void => {
    if (typeof container !== "object" || container === null || Array.isArray(container) || !Object.hasOwn(container, name)) return;
    const members = container as Members;
    members[name] = new RawJson(raw[members[name] as number] as string);
  };
  putInto(value);
  const list = Array.isArray(value) ? value : (value as Partial<Members> | null)?.[listName];
  if (Array.isArray(list)) for (const one of list) putInto(one);
}

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

/** The error of a longer body has no position, because finding it takes far longer than parsing. */
const MAX_LOCATED_BYTES = 262_144;

function explained(error: unknown, bytes: Buffer, maxDepth: number): unknown {
  if (error instanceof JsonLimitError) return new JsonBodyError("too_large", `The body ${error.message}.`);
  if (error instanceof JsonDepthError) {
    const where = error.at > MAX_LOCATED_BYTES ? "" : ` at ${positionAfter(bytes.toString("utf8", 0, error.at))}`;
    return new JsonBodyError("too_deep", `The body nests arrays and objects more than ${maxDepth} deep${where}.`);
  }
  if (!(error instanceof SyntaxError || error instanceof JsonSyntaxError)) return error;
  if (bytes.length > MAX_LOCATED_BYTES) return new JsonBodyError("syntax", "The body is not valid JSON.");
  const text = bytes.toString();
  const at = syntaxErrorAt(text);
  const found = at === text.length ? "it ends too early" : `unexpected ${named(text.codePointAt(at) ?? 0)}`;
  return new JsonBodyError("syntax", `The body is not valid JSON: ${found} at ${positionAfter(text.slice(0, at))}.`);
}

const named = (code: number): string =>
  code > 0x20 && code < 0x7f ? String.fromCharCode(code) : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
