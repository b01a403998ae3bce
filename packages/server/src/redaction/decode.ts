import { COMMON_ESCAPES, type EscapeSyntax, MAX_LAYERS, QUOTED_PRINTABLE } from "./escapes.ts";
import type { WorkBudget } from "./work-budget.ts";

/** A text with some layers of escapes decoded, as UTF-8 with one character per byte. */
export interface DecodedText {
  readonly bytes: string;
  /** The range of the original text that the bytes from `start` to before `end` come from. It covers whole characters and escapes. */
  sourceRange(start: number, end: number): readonly [start: number, end: number];
}

const CHARACTERS = /[\xc0-\xff][\x80-\xbf]+/g;
const JSON_CHARACTERS = /[\xc0-\xff][\x80-\xbf]+|\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)/g;

/** The text itself, then with one more layer of escapes decoded each, until none is left; then the same for quoted-printable. */
export function* decodings(bytes: string, kind: "text" | "json", budget: WorkBudget): Iterable<DecodedText> {
  const original = undecoded(bytes, kind === "json" ? JSON_CHARACTERS : CHARACTERS);
  yield original;
  const once = yield* decodeLayers(original, budget);
  // JSON may hold a mail, so its first layer is looked at too.
  for (const text of new Set([original, once])) {
    const mail = decode(text, QUOTED_PRINTABLE, budget);
    if (mail === text) continue;
    yield mail;
    yield* decodeLayers(mail, budget);
  }
}

/** @returns the text with one layer decoded */
function* decodeLayers(text: DecodedText, budget: WorkBudget): Generator<DecodedText, DecodedText> {
  let once = text;
  let last = text;
  for (let layer = 0; layer < MAX_LAYERS; layer += 1) {
    const next = decode(last, COMMON_ESCAPES, budget);
    if (next === last) break;
    if (layer === 0) once = next;
    yield next;
    last = next;
  }
  return once;
}

const undecoded = (bytes: string, pattern: RegExp): DecodedText =>
  withSourceRanges(bytes, { bytes, sourceRange: (start, end) => [start, end] }, { pattern, decode: (escaped) => escaped });

/** @returns the same object when there is nothing to decode */
function decode(text: DecodedText, syntax: EscapeSyntax, budget: WorkBudget): DecodedText {
  budget.spend(text.bytes.length);
  const bytes = text.bytes.replace(syntax.pattern, syntax.decode);
  return bytes === text.bytes ? text : withSourceRanges(bytes, text, syntax);
}

/** Most texts hold no secret, so the ranges are computed on the first match. */
function withSourceRanges(bytes: string, source: DecodedText, syntax: EscapeSyntax): DecodedText {
  let edges: ReturnType<typeof sourceEdges> | null = null;
  return {
    bytes,
    sourceRange: (start, end) => {
      edges ??= sourceEdges(source.bytes, syntax, bytes.length);
      return source.sourceRange(edges.starts[start] as number, edges.ends[end - 1] as number);
    },
  };
}

/** For each decoded byte, where the character or escape that it comes from starts and ends. */
function sourceEdges(bytes: string, { pattern, decode: decodeOne }: EscapeSyntax, length: number): Record<"starts" | "ends", Int32Array> {
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
  for (const { 0: escaped, index } of bytes.matchAll(pattern)) {
    copy(index);
    from = index + escaped.length;
    const next = to + decodeOne(escaped).length;
    starts.fill(index, to, next);
    ends.fill(from, to, next);
    to = next;
  }
  copy(bytes.length);
  return { starts, ends };
}
