import type { Steps } from "./steps.ts";

/** One way to read a text: what it says when escapings are undone, as UTF-8 with one character per byte. */
export interface Reading {
  readonly bytes: string;
  /** Where in the text itself the bytes from `start` to before `end` come from: whole characters and escapes of it. */
  place(start: number, end: number): readonly [start: number, end: number];
}

interface Rewriting {
  readonly pattern: RegExp;
  /** Never longer than what was written. */
  readonly write: (written: string) => string;
}

/** How many escapings one inside the other are undone: JSON in JSON, a URL in a URL, and what the value has of its own. */
const DEPTH = 8;
const MOST_CODE_POINT = 0x10ffff;
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** A text as UTF-8 with one character per byte. */
export const bytesOf = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/**
 * JSON, JavaScript, Python, C and shells: `\n`, `\"`, `\x41`, `\101`, `\u0041`, `\u{41}`, `\U00000041`; URLs: `%41`; HTML and XML: `&amp;`,
 * `&#65;`, `&#x41;`.
 */
const ESCAPES: Rewriting = {
  pattern:
    /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|[0-7]{1,3}|[\s\S])|%[\da-fA-F]{2}|&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|amp|lt|gt|quot|apos);/g,
  write: (written) => {
    if (written.startsWith("%")) return byteOf(written.slice(1), 16);
    return written.startsWith("&") ? reference(written.slice(1, -1)) : backslashed(written.slice(1));
  },
};

/** Mail: `=41`, and lines that go on after `=`. Undone apart: much else has an equals sign before what could be digits. */
const QUOTED_PRINTABLE: Rewriting = {
  pattern: /=(?:\r?\n|[\da-fA-F]{2})/g,
  write: (written) => (written.endsWith("\n") ? "" : byteOf(written.slice(1), 16)),
};

const CHARACTERS = /[\xc0-\xff][\x80-\xbf]+/g;
const JSON_CHARACTERS = /[\xc0-\xff][\x80-\xbf]+|\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)/g;

const byteOf = (digits: string, base: number): string => String.fromCharCode(Number.parseInt(digits, base) & 0xff);

function characterOf(digits: string, base: number): string {
  const point = Number.parseInt(digits, base);
  return bytesOf(point > MOST_CODE_POINT ? "\ufffd" : String.fromCodePoint(point));
}

function backslashed(written: string): string {
  const kind = written.charAt(0);
  if (/[0-7]/.test(kind)) return byteOf(written, 8);
  if (written.length === 1) return CONTROLS[kind] ?? kind;
  if (kind === "x") return byteOf(written.slice(1), 16);
  if (written.includes("\\")) return bytesOf(JSON.parse(`"\\${written}"`) as string);
  return characterOf(written.replace(/[^\da-f]/gi, ""), 16);
}

function reference(name: string): string {
  if (/^#x/i.test(name)) return characterOf(name.slice(2), 16);
  return name.startsWith("#") ? characterOf(name.slice(1), 10) : (NAMED[name] ?? name);
}

/** Bytes with their escapes undone again and again. */
export function unescaped(bytes: string): string {
  let last = bytes;
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const next = last.replace(ESCAPES.pattern, ESCAPES.write);
    if (next === last) break;
    last = next;
  }
  return last;
}

/** A text as it stands, then with its escapes undone again and again until there are none; and as mail, which JSON may hold. */
export function* readingsOf(bytes: string, kind: "text" | "json", steps: Steps): Iterable<Reading> {
  const standing = asItStands(bytes, kind === "json" ? JSON_CHARACTERS : CHARACTERS);
  yield standing;
  const once = yield* undone(standing, steps);
  for (const reading of new Set([standing, once])) {
    const mail = rewritten(reading, QUOTED_PRINTABLE, steps);
    if (mail === reading) continue;
    yield mail;
    yield* undone(mail, steps);
  }
}

/** Answers the reading with its escapes undone once. */
function* undone(reading: Reading, steps: Steps): Generator<Reading, Reading> {
  let once = reading;
  let last = reading;
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const next = rewritten(last, ESCAPES, steps);
    if (next === last) break;
    if (depth === 0) once = next;
    yield next;
    last = next;
  }
  return once;
}

const asItStands = (bytes: string, pattern: RegExp): Reading =>
  mapped(bytes, { bytes, place: (start, end) => [start, end] }, { pattern, write: (written) => written });

/** The same one when there is nothing to rewrite. */
function rewritten(reading: Reading, rewriting: Rewriting, steps: Steps): Reading {
  steps.take(reading.bytes.length);
  const bytes = reading.bytes.replace(rewriting.pattern, rewriting.write);
  return bytes === reading.bytes ? reading : mapped(bytes, reading, rewriting);
}

/** Most texts hold nothing: only for what does is it worked out where that came from. */
function mapped(bytes: string, from: Reading, rewriting: Rewriting): Reading {
  let edges: ReturnType<typeof edgesOf> | null = null;
  return {
    bytes,
    place: (start, end) => {
      edges ??= edgesOf(from.bytes, rewriting, bytes.length);
      return from.place(edges.starts[start] as number, edges.ends[end - 1] as number);
    },
  };
}

/** Where each byte of a reading began and ended before it was rewritten. */
function edgesOf(bytes: string, { pattern, write }: Rewriting, length: number): Record<"starts" | "ends", Int32Array> {
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let to = 0;
  let from = 0;
  const copy = (until: number): void => {
    for (; from < until; from += 1, to += 1) {
      starts[to] = from;
      ends[to] = from + 1;
    }
  };
  for (const { 0: written, index } of bytes.matchAll(pattern)) {
    copy(index);
    from = index + written.length;
    const next = to + write(written).length;
    starts.fill(index, to, next);
    ends.fill(from, to, next);
    to = next;
  }
  copy(bytes.length);
  return { starts, ends };
}
