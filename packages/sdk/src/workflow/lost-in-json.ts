/** A part of a value of which JSON keeps nothing, by its path in it. What it is, and what to do. */
interface Lost {
  readonly path: string;
  readonly what: string;
  readonly advice: string;
}

type Kind = Omit<Lost, "path">;

const RESPONSE: Kind = { what: "a Response", advice: "Take what you need of it, such as await response.json()." };
const REQUEST: Kind = { what: "a Request", advice: "Take what you need of it, such as await request.json()." };
const PROMISE: Kind = { what: "a Promise", advice: "Await it." };
const ITERATOR: Kind = { what: "an iterator or generator", advice: "Make it an array, for example by Array.from." };

/** Also of another realm, and of libraries that have classes of their own with these names. */
const KINDS: Readonly<Record<string, Kind>> = { Response: RESPONSE, Request: REQUEST, Promise: PROMISE };

export const classOf = (value: unknown): string => Object.prototype.toString.call(value).slice("[object ".length, -1);

/** Whether calling it executes nothing of it. */
export const isGeneratorFunction = (fn: unknown): boolean => classOf(fn).endsWith("GeneratorFunction");

/**
 * A replacer of `JSON.stringify` that keeps the name and the message of an Error, and leaves out what JSON keeps nothing of. Only an Error may
 * have that: see `lossesIn`.
 */
export function withErrors(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || hasJson(value)) return value;
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
 * Finds what JSON makes `{}` of although it means more. What is empty in JSON for other reasons, such as a Map, is left to the types.
 *
 * @param value that has JSON, so that it is not circular
 * @param depth how deep it is nested at most
 */
export function lossesIn(value: unknown, depth: number): Losses {
  let hasErrors = false;
  const lostIn = (one: unknown, levels: number): Lost | null => {
    if (typeof one !== "object" || one === null || levels < 0 || hasJson(one)) return null;
    if (isError(one)) {
      hasErrors = true;
      return null;
    }
    const kind = kindOf(one);
    if (kind) return { path: "", ...kind };
    const isList = Array.isArray(one);
    for (const [name, member] of isList ? one.entries() : Object.entries(one)) {
      const lost = lostIn(member, levels - 1);
      if (lost) return { ...lost, path: `${isList ? `[${name}]` : name}${lost.path.replace(/^(?=[^[])/, ".")}` };
    }
    return null;
  };
  const lost = lostIn(value, depth);
  return { lost, hasErrors };
}

function kindOf(value: object): Kind | undefined {
  if (Array.isArray(value)) return undefined;
  const { next } = value as { next?: unknown };
  if (typeof next === "function" && (Symbol.iterator in value || Symbol.asyncIterator in value)) return ITERATOR;
  const name = classOf(value);
  return Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}
