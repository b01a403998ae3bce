/** What a value is that JSON does not keep, what JSON would make of it, and what to use instead. */
interface LostKind {
  readonly what: string;
  readonly becomes: string;
  /** A sentence without its full stop. */
  readonly advice: string;
}

/** A part of a value that JSON does not keep, by its path in it. */
interface Lost extends LostKind {
  readonly path: string;
}

const NOTHING = "{}";

const kind = (what: string, advice: string, becomes = NOTHING): LostKind => ({ what, becomes, advice });

const ITERATOR = kind("an iterator or generator", "Make it an array, for example by Array.from");
const ELSEWHERE = "or store it elsewhere and use its id or address";
const BYTES = `Make it a string, for example base64, or an array, ${ELSEWHERE}`;
const BLOB = `Take what is in it, such as await blob.text(), ${ELSEWHERE}`;
const PAIRS = "Make it an object or an array, for example by Object.fromEntries or Array.from";
const LIST = "Make it an array, for example by Array.from";
const LEAVE_OUT = "Leave it out";

/** Also of another realm, and of libraries that have classes of their own with these names. */
const KINDS = new Map<string, LostKind>([
  ["Response", kind("a Response", "Take what you need of it, such as await response.json()")],
  ["Request", kind("a Request", "Take what you need of it, such as await request.json()")],
  ["Promise", kind("a Promise", "Await it")],
  ["Map", kind("a Map", PAIRS)],
  ["Set", kind("a Set", LIST)],
  ["WeakMap", kind("a WeakMap", LEAVE_OUT)],
  ["WeakSet", kind("a WeakSet", LEAVE_OUT)],
  ["WeakRef", kind("a WeakRef", LEAVE_OUT)],
  ["RegExp", kind("a RegExp", "Use its source")],
  ["Headers", kind("Headers", PAIRS)],
  ["FormData", kind("FormData", PAIRS)],
  ["URLSearchParams", kind("URLSearchParams", "Make it a string, or an object by Object.fromEntries")],
  ["Blob", kind("a Blob", BLOB)],
  ["File", kind("a File", BLOB)],
  ["ReadableStream", kind("a ReadableStream", "Read it, for example by await new Response(stream).text()")],
  ["ArrayBuffer", kind("an ArrayBuffer", BYTES)],
  ["SharedArrayBuffer", kind("a SharedArrayBuffer", BYTES)],
  ["DataView", kind("a DataView", BYTES)],
]);

export const classOf = (value: unknown): string => Object.prototype.toString.call(value).slice("[object ".length, -1);

/** Whether calling it executes nothing of it. */
export const isGeneratorFunction = (fn: unknown): boolean => classOf(fn).endsWith("GeneratorFunction");

/**
 * A replacer of `JSON.stringify` that keeps the name and the message of an Error, and leaves out what JSON does not keep. Only an Error may
 * have that: see `lossesIn`.
 */
export function withErrors(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || isPlain(value) || hasJson(value)) return value;
  if (isError(value)) return { ...value, name: value.name, message: value.message };
  return kindOf(value) ? undefined : value;
}

/** Even one of another realm. */
const isError = (value: unknown): value is Error => value instanceof Error || classOf(value) === "Error";

const hasJson = (value: object): boolean => typeof (value as { toJSON?: unknown }).toJSON === "function";

/** What `JSON.stringify` alone would lose of a value. */
export interface Losses {
  readonly lost: Lost | null;
  /** Whether it has an Error, for `withErrors`. What that has as members is not refused: libraries add a Response, for example. */
  readonly hasErrors: boolean;
}

/**
 * Finds what JSON makes `{}` of, or an object of numbers, although it means more. A value with a `toJSON` of its own is kept: what that
 * returns is meant. So is an object of any other class, of which JSON has the members.
 *
 * @param value that has JSON, so that it is not circular
 * @param depth how deep it is nested at most
 */
export function lossesIn(value: unknown, depth: number): Losses {
  let hasErrors = false;
  const lostIn = (one: unknown, levels: number): Lost | null => {
    if (typeof one !== "object" || one === null || levels < 0 || hasJson(one)) return null;
    const isList = Array.isArray(one);
    if (!isList && !isPlain(one)) {
      if (isError(one)) {
        hasErrors = true;
        return null;
      }
      const found = kindOf(one);
      if (found) return { path: "", ...found };
    }
    for (const [name, member] of isList ? one.entries() : Object.entries(one)) {
      const lost = lostIn(member, levels - 1);
      if (lost) return { ...lost, path: `${isList ? `[${name}]` : name}${lost.path.replace(/^(?=[^[])/, ".")}` };
    }
    return null;
  };
  const lost = lostIn(value, depth);
  return { lost, hasErrors };
}

/** Whether JSON has all of an object: a literal that is not an iterator. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !isIterator(value);
}

function isIterator(value: object): boolean {
  const { next } = value as { next?: unknown };
  return typeof next === "function" && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function kindOf(value: object): LostKind | undefined {
  if (Array.isArray(value)) return undefined;
  if (isIterator(value)) return ITERATOR;
  const name = classOf(value);
  if (ArrayBuffer.isView(value) && name !== "DataView") return kind(`a typed array (${name})`, BYTES, "an object of numbers");
  return KINDS.get(name);
}
