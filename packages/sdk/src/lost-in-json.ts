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
const STREAM = kind("a stream", "Read it, for example by await text(stream) of node:stream/consumers", "an object of its settings");
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
  ["WritableStream", kind("a WritableStream", LEAVE_OUT)],
  ["TransformStream", kind("a TransformStream", LEAVE_OUT)],
  ["AbortSignal", kind("an AbortSignal", LEAVE_OUT)],
  ["ArrayBuffer", kind("an ArrayBuffer", BYTES)],
  ["SharedArrayBuffer", kind("a SharedArrayBuffer", BYTES)],
  ["DataView", kind("a DataView", BYTES)],
]);

const classOf = (value: unknown): string => Object.prototype.toString.call(value).slice("[object ".length, -1);

/** Whether calling it executes nothing of it. */
export const isGeneratorFunction = (fn: unknown): boolean => classOf(fn).endsWith("GeneratorFunction");

/** What `JSON.stringify` makes of a value, and the first part of it that JSON does not keep. */
interface Json {
  /** Undefined for what JSON leaves out, such as a function. */
  readonly text: string | undefined;
  readonly lost: Lost | null;
}

/**
 * Makes the JSON of a value, and finds what JSON makes `{}` of, or an object of numbers, although it means more. Of a value with a `toJSON`,
 * what that returns is searched. An object of any other class is kept: JSON has its members. An Error becomes its name and message, with its
 * own members; those that JSON does not keep are left out: libraries add a Response, for example.
 */
export function jsonOrLoss(value: unknown): Json {
  let lost: Lost | null = null;
  /** The objects around the member that is read, from the outside in, and their keys. */
  const around: object[] = [];
  const keys: string[] = [];
  const lossAt = (path: readonly string[], found: LostKind): Lost | null => {
    const isInError = isError(value) || around.some((one, at) => isError(one[path[at + 1] as keyof typeof one]));
    return isInError ? null : { path: pathOf(around, path), ...found };
  };
  const text = JSON.stringify(value, function (this: object, key: string, member: unknown) {
    while (around.length > 0 && around.at(-1) !== this) {
      around.pop();
      keys.pop();
    }
    if (typeof member !== "object" || member === null) return member;
    let kept = member;
    if (!Array.isArray(member) && !isPlain(member)) {
      if (isError(member)) kept = membersOf(member);
      else {
        const found = lostKind(member);
        if (found && !lost) lost = lossAt([...keys, key], found);
        if (found) return undefined;
      }
    }
    around.push(kept);
    keys.push(key);
    return kept;
  });
  return { text, lost };
}

/** An AggregateError has its errors, too, which are not enumerable. */
function membersOf(error: Error): object {
  const { errors } = error as { errors?: unknown };
  return { ...(Array.isArray(errors) && { errors }), ...error, name: error.name, message: error.message };
}

/** @param around the objects around the member, of which the first has no key */
const pathOf = (around: readonly object[], [, ...keys]: readonly string[]): string =>
  keys.reduce((path, key, at) => (Array.isArray(around[at]) ? `${path}[${key}]` : `${path}${path && "."}${key}`), "");

/** Even one of another realm. */
const isError = (value: unknown): value is Error => value instanceof Error || classOf(value) === "Error";

/** Whether JSON has all of an object: a literal that is not an iterator. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !isIterator(value);
}

function isIterator(value: object): boolean {
  const { next } = value as { next?: unknown };
  return typeof next === "function" && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

/** A stream of Node. */
function isStream(value: object): boolean {
  const { pipe, on } = value as { pipe?: unknown; on?: unknown };
  return typeof pipe === "function" && typeof on === "function";
}

/** What an object is that JSON does not keep. */
export function lostKind(value: object): LostKind | undefined {
  if (isIterator(value)) return ITERATOR;
  const name = classOf(value);
  if (ArrayBuffer.isView(value) && name !== "DataView") return kind(`a typed array (${name})`, BYTES, "an object of numbers");
  return KINDS.get(name) ?? (isStream(value) ? STREAM : undefined);
}
