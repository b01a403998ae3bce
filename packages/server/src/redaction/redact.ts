import { LIMITS } from "@tidemill/contract";
import { digitForms, type Form, LONGEST_NUMBER, writtenForms } from "./encodings.ts";
import { bytesOf, readingsOf } from "./readings.ts";
import { DIGITS, LETTERS, Seeker } from "./seek.ts";
import { type Span, Spans } from "./spans.ts";
import { Steps } from "./steps.ts";

/** What a JSON text consists of, but for its structure. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s[\]{}:,"]+/g;

/**
 * Takes the values of secrets out of what is kept of an attempt: each becomes `[secret:NAME]`, in whatever encoding of
 * `encodings.ts` and `readings.ts` it stands there, in upper or lower case. What handlers make of a value besides (a part of it,
 * a hash, a cipher) is not found. Nothing is kept (null) of a text that is too much work to look through, or too long with
 * marks in their place. Source: contract §9.
 */
export class Redactor {
  /** By value: of those that have the same, the first. */
  readonly #names = new Map<string, string>();
  /** For so many of the values, the shortest. */
  #ready: { readonly sought: number; readonly seekers: readonly Seeker[] } | undefined;

  /** @param secrets values by name */
  constructor(secrets: ReadonlyMap<string, string>) {
    for (const [name, value] of secrets) {
      for (const other of layoutsOf(value)) if (!this.#names.has(other)) this.#names.set(other, name);
    }
  }

  /** The text without the values. It must be whole: what is left of a value that was cut off is not found. */
  text(text: string): string | null {
    const bytes = bytesOf(text);
    const spans = this.#find(bytes, "text");
    return spans?.length === 0 ? text : spans && textOf(replace(bytes, spans));
  }

  /**
   * The JSON text without the values, in its strings, keys and numbers: it stays valid JSON, and the same where it holds none.
   * One that holds a value across several of them becomes a single string.
   *
   * @param text valid JSON
   */
  json(text: string): string | null {
    const bytes = bytesOf(text);
    const spans = this.#find(bytes, "json");
    if (!spans || spans.length === 0) return spans && text;
    const redacted = replaceInTokens(bytes, spans);
    return redacted === null ? JSON.stringify(textOf(replace(bytes, spans))) : textOf(redacted);
  }

  /** Where values stand in bytes, in order; null when that is too much work, or marks in their place would be too long. */
  #find(bytes: string, kind: "text" | "json"): Span[] | null {
    // A value is no longer than the text that holds it, but for numbers, which are shorter in other hands.
    const sought = [...this.#names].filter(([value]) => value.length <= Math.max(bytes.length, LONGEST_NUMBER));
    if (sought.length === 0 || bytes === "") return [];
    const steps = new Steps();
    const seekers = this.#seekersOf(sought, steps);
    if (steps.areSpent) return null;
    const spans = new Spans(bytes.length);
    for (const reading of readingsOf(bytes, kind, steps)) {
      for (const seeker of seekers) seeker.seek(reading, steps, (start, end, name) => spans.add(start, end, name));
      if (steps.areSpent) return null;
    }
    const merged = spans.merged();
    return growth(merged) > Math.max(0, LIMITS.resultBytes - bytes.length) ? null : merged;
  }

  /** Made once for all answers to attempts that got the same secrets, but for values that no text so short could hold. */
  #seekersOf(sought: readonly [value: string, name: string][], steps: Steps): readonly Seeker[] {
    if (this.#ready?.sought === sought.length) return this.#ready.seekers;
    const seekers = [new Seeker(LETTERS, all(sought, writtenForms), steps), new Seeker(DIGITS, all(sought, digitForms), steps)];
    if (!steps.areSpent) this.#ready = { sought: sought.length, seekers };
    return seekers;
  }
}

/** The value, and as it comes back from who trims it, or has another way to end a line, or none. */
function layoutsOf(value: string): Set<string> {
  const unix = value.replace(/\r\n?/g, "\n");
  const layouts = [
    value,
    value.trim(),
    unix,
    unix.trim(),
    ...[unix, unix.trim()].map((text) => text.replaceAll("\n", "\r\n")),
    unix.replaceAll("\n", ""),
  ];
  return new Set(layouts.filter((layout) => layout !== ""));
}

function* all(secrets: Iterable<[value: string, name: string]>, formsOf: (name: string, value: string) => Form[]): Iterable<Form> {
  for (const [value, name] of secrets) yield* formsOf(name, value);
}

const textOf = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");
const mark = (name: string): string => `[secret:${name}]`;
/** By how many bytes marks are longer than what they stand for. */
const growth = (spans: readonly Span[]): number => spans.reduce((sum, { start, end, name }) => sum + mark(name).length - (end - start), 0);

/** Bytes from `from` to before `to` with marks in place of spans. */
function replace(bytes: string, spans: readonly Span[], from = 0, to = bytes.length): string {
  let kept = "";
  let next = from;
  for (const { start, end, name } of spans) {
    kept += bytes.slice(next, start) + mark(name);
    next = end;
  }
  return kept + bytes.slice(next, to);
}

/** JSON with marks in its strings, and strings in place of its literals; null when a span goes over the edge of one. */
function replaceInTokens(bytes: string, spans: readonly Span[]): string | null {
  let kept = "";
  let from = 0;
  let next = 0;
  for (const { 0: token, index: start } of bytes.matchAll(JSON_TOKEN)) {
    const end = start + token.length;
    const own: Span[] = [];
    for (let span = spans[next]; span && span.start < end; next += 1, span = spans[next]) {
      // What is structure and nothing else holds no value.
      if (span.end <= start) continue;
      if (span.start < start || span.end > end) return null;
      own.push(span);
    }
    const quotes = token.startsWith('"') ? 1 : 0;
    const inside = own.map((span) => ({ ...span, start: Math.max(span.start, start + quotes), end: Math.min(span.end, end - quotes) }));
    const held = inside.filter((span) => span.start < span.end);
    if (held.length === 0) continue;
    kept += `${bytes.slice(from, start)}"${replace(bytes, held, start + quotes, end - quotes)}"`;
    from = end;
  }
  return kept + bytes.slice(from);
}
