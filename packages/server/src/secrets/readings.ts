import { BACKSLASHES, bytesOf, ESCAPINGS, type Escaping } from "./escapings.ts";

/** One way to read a text: what it says when escapings are undone, as UTF-8 with one character per byte. */
export interface Reading {
  readonly bytes: string;
  /** Where in the text itself the bytes from `start` to before `end` come from. */
  place(start: number, end: number): readonly [start: number, end: number];
}

/** How many escapings one inside the other are undone: JSON in JSON, a URL in a URL, HTML in JSON. */
const DEPTH = 2;

/** A text as it stands, then with all escapings undone, each alone and each inside each other. */
export const readingsOf = (text: string): Iterable<Reading> => within(asItStands(text), DEPTH, new Map());

/** As `readingsOf`, for a JSON text: what its strings say when they are parsed may be escaped as deep again. */
export function* readingsOfJson(text: string): Iterable<Reading> {
  const seen = new Map<string, number>();
  const reading = asItStands(text);
  const parsed = undo(reading, BACKSLASHES);
  yield* within(parsed, DEPTH, seen);
  yield* within(reading, DEPTH, seen);
}

function* within(reading: Reading, depth: number, seen: Map<string, number>): Iterable<Reading> {
  const before = seen.get(reading.bytes);
  if (before !== undefined && before >= depth) return;
  seen.set(reading.bytes, depth);
  if (before === undefined) yield reading;
  if (depth === 0) return;
  for (const escaping of ESCAPINGS) yield* within(undo(reading, escaping), depth - 1, seen);
}

function asItStands(text: string): Reading {
  const bytes = bytesOf(text);
  if (bytes.length === text.length) return { bytes, place: (start, end) => [start, end] };
  let units: Int32Array | null = null;
  const unitOf = (byte: number): number => {
    units ??= unitsOf(text, bytes.length);
    return units[byte] as number;
  };
  return {
    bytes,
    place: (start, end) => {
      const last = unitOf(end - 1);
      return [unitOf(start), last + String.fromCodePoint(text.codePointAt(last) as number).length];
    },
  };
}

/** Where in a text the character of each byte begins. */
function unitsOf(text: string, length: number): Int32Array {
  const units = new Int32Array(length);
  let unit = 0;
  let byte = 0;
  for (const character of text) {
    const next = byte + Buffer.byteLength(character);
    units.fill(unit, byte, next);
    byte = next;
    unit += character.length;
  }
  return units;
}

/** A reading with one escaping undone; the same one when there is nothing to undo. */
export function undo(reading: Reading, escaping: Escaping): Reading {
  const bytes = reading.bytes.replace(escaping.pattern, escaping.undo);
  if (bytes === reading.bytes) return reading;
  // Most texts hold nothing: only for what does is it worked out where that came from.
  let edges: Edges | null = null;
  return {
    bytes,
    place: (start, end) => {
      edges ??= edgesOf(reading.bytes, escaping, bytes.length);
      return reading.place(edges.starts[start] as number, edges.ends[end - 1] as number);
    },
  };
}

/** Where each byte of a reading began and ended before it was undone. */
interface Edges {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

function edgesOf(bytes: string, { pattern, undo: undone }: Escaping, length: number): Edges {
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
    const next = to + undone(written).length;
    starts.fill(index, to, next);
    ends.fill(from, to, next);
    to = next;
  }
  copy(bytes.length);
  return { starts, ends };
}
