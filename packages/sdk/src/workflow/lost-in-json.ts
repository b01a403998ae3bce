/** A part of a value of which JSON keeps nothing, by its path in it. What it is, and what to do. */
export interface Lost {
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

/** A replacer of `JSON.stringify`, which leaves out the name and the message of an Error. */
export const withErrors = (_: string, value: unknown): unknown =>
  isError(value) && !hasJson(value) ? { ...value, name: value.name, message: value.message } : value;

/** Whether an Error is in a value of which `withErrors` has more to say. */
export function hasErrors(value: unknown): boolean {
  if (typeof value !== "object" || value === null || hasJson(value)) return false;
  return isError(value) || Object.values(value).some(hasErrors);
}

/** Even one of another realm. */
const isError = (value: unknown): value is Error => value instanceof Error || classOf(value) === "Error";

const hasJson = (value: object): boolean => typeof (value as { toJSON?: unknown }).toJSON === "function";

/**
 * Finds what JSON makes `{}` of although it means more. What is empty in JSON for other reasons, such as a Map, is left to the types.
 *
 * @param value that has JSON, so that it is not circular
 */
export function lostIn(value: unknown): Lost | null {
  if (typeof value !== "object" || value === null || hasJson(value)) return null;
  const kind = kindOf(value);
  if (kind) return { path: "", ...kind };
  for (const [name, member] of Object.entries(value)) {
    const lost = lostIn(member);
    if (lost) return { ...lost, path: `${Array.isArray(value) ? `[${name}]` : name}${lost.path.replace(/^(?=[^[])/, ".")}` };
  }
  return null;
}

function kindOf(value: object): Kind | undefined {
  if (Array.isArray(value)) return undefined;
  const { next } = value as { next?: unknown };
  if (typeof next === "function" && (Symbol.iterator in value || Symbol.asyncIterator in value)) return ITERATOR;
  const name = classOf(value);
  return Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}
