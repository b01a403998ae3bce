import { type Form, fold, formsOf } from "./encodings.ts";
import { GAPS } from "./escapings.ts";
import { occurrencesOf } from "./occurrences.ts";
import { type Reading, readingsOf, readingsOfJson, undo } from "./readings.ts";

/** Where a text holds a value. */
interface Find {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

const NUMBER = /^[-\d.]+$/;
const PACKED = /[a-z\d+/_-]/;
/** What a JSON text consists of, but for its structure. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s[\]{}:,"]+/g;

const mark = (name: string): string => `[secret:${name}]`;

/**
 * Takes the values of secrets out of what is kept of an attempt: each becomes `[secret:NAME]`, in whatever encoding of
 * `encodings.ts` and `escapings.ts` it stands there, in upper or lower case. What handlers make of a value besides (a part of it,
 * a hash, a cipher) is not found. Source: contract §9.
 */
export class Redactor {
  readonly #secrets: readonly Secret[];

  /** @param secrets values by name */
  constructor(secrets: ReadonlyMap<string, string>) {
    this.#secrets = [...secrets].filter(([, value]) => value !== "").map(([name, value]) => new Secret(name, value));
  }

  /** The text without the values. It must be whole: what is left of a value that was cut off is not found. */
  text(text: string): string {
    return replace(text, this.#find(readingsOf(text), text.length), ({ name }) => mark(name));
  }

  /**
   * The JSON text without the values, in its strings, keys and numbers: it stays valid JSON, and the same where it holds none.
   * One that holds a value across several of them becomes a single string.
   *
   * @param text valid JSON
   */
  json(text: string): string {
    const finds = this.#find(readingsOfJson(text), text.length);
    if (finds.length === 0) return text;
    const touched = touchedTokens(text, finds);
    if (!touched) return JSON.stringify(this.text(text));
    return replace(text, touched, ({ start, end, name }) => JSON.stringify(this.#token(text.slice(start, end), name)));
  }

  #token(token: string, name: string): string {
    const content = token.startsWith('"') ? (JSON.parse(token) as string) : token;
    const redacted = this.text(content);
    return redacted === content ? mark(name) : redacted;
  }

  #find(readings: Iterable<Reading>, length: number): Find[] {
    // A value is no longer than the text that holds it, but for numbers, which are shorter in other hands.
    const sought = this.#secrets.filter(({ value }) => value.length <= length || NUMBER.test(value));
    if (sought.length === 0) return [];
    const finds: Find[] = [];
    for (const reading of readings) {
      seek(reading, sought, (secret) => secret.forms, finds);
      const joined = undo(reading, GAPS);
      if (joined !== reading) seek(joined, sought, (secret) => secret.digits, finds);
    }
    return merged(finds);
  }
}

class Secret {
  readonly name: string;
  readonly value: string;
  #forms: readonly Form[] | undefined;
  #digits: readonly Form[] | undefined;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
  }

  get forms(): readonly Form[] {
    this.#forms ??= formsOf(this.value);
    return this.#forms;
  }

  get digits(): readonly Form[] {
    this.#digits ??= this.forms.filter(({ digits }) => digits);
    return this.#digits;
  }
}

function seek(reading: Reading, secrets: readonly Secret[], formsIn: (secret: Secret) => readonly Form[], finds: Find[]): void {
  const folded = fold(reading.bytes);
  for (const secret of secrets) {
    for (const form of formsIn(secret)) {
      for (const at of occurrencesOf(form.bytes, folded)) {
        const [start, end] = reading.place(...widened(folded, at, form));
        finds.push({ start, end, name: secret.name });
      }
    }
  }
}

/** With the digits around it that hold some of the value's bits, and the padding. */
function widened(text: string, at: number, form: Form): [start: number, end: number] {
  let start = at;
  let end = at + form.bytes.length;
  while (at - start < form.before && PACKED.test(text.charAt(start - 1))) start -= 1;
  for (let after = 0; after < form.after && PACKED.test(text.charAt(end)); after += 1) end += 1;
  if (form.after > 0) while (text.charAt(end) === "=") end += 1;
  return [start, end];
}

/** In order, those that overlap made one, which has the name of the longest. */
function merged(finds: Find[]): Find[] {
  finds.sort((a, b) => a.start - b.start || b.end - a.end);
  const apart: Find[] = [];
  let longest = 0;
  for (const find of finds) {
    const last = apart.at(-1);
    const length = find.end - find.start;
    if (!last || find.start >= last.end) {
      apart.push(find);
      longest = length;
      continue;
    }
    apart[apart.length - 1] = { start: last.start, end: Math.max(last.end, find.end), name: length > longest ? find.name : last.name };
    longest = Math.max(longest, length);
  }
  return apart;
}

function replace(text: string, finds: readonly Find[], by: (find: Find) => string): string {
  let kept = "";
  let from = 0;
  for (const find of finds) {
    kept += text.slice(from, find.start) + by(find);
    from = find.end;
  }
  return from === 0 ? text : kept + text.slice(from);
}

/** The tokens of a JSON text that hold what was found; null when something stands in none of them. */
function touchedTokens(text: string, finds: readonly Find[]): Find[] | null {
  const touched: Find[] = [];
  let next = 0;
  for (const { 0: token, index: start } of text.matchAll(JSON_TOKEN)) {
    const end = start + token.length;
    const first = finds[next];
    if (!first) break;
    if (first.start < start) return null;
    if (first.start >= end) continue;
    while ((finds[next]?.start ?? end) < end) {
      if ((finds[next] as Find).end > end) return null;
      next += 1;
    }
    touched.push({ start, end, name: first.name });
  }
  return next < finds.length ? null : touched;
}
