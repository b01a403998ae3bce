import type { SlicedWork } from "../shares/loop-time.ts";
import { COUNT, END, FIRST, MEMBER_END, MEMBER_NEXT, MEMBER_START, NEXT, Outline, START } from "./outline.ts";
import { Pauses } from "./pauses.ts";

/** The size of the chunks in which the output is passed on. */
const CHUNK_BYTES = 64 * 1024;
/** The memory of larger texts is freed immediately. */
const MIN_FREED_BYTES = 64 * 1024;
const STEPS_PER_TOKEN = 64;
/** Fewer bytes are copied one by one. */
const MIN_BLOCK_BYTES = 48;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const COMMA_BYTES = Buffer.of(COMMA);

/**
 * Writes JSON without white space, with the members of each object sorted by name. Strings and numbers stay as they are.
 *
 * @param text valid JSON
 * @param write takes the next bytes of it, in UTF-8. They may change when it has returned.
 */
export function* canonicalJson(text: string, write: (bytes: Uint8Array) => unknown): SlicedWork<void> {
  const bytes = Buffer.from(text);
  const outline = new Outline(bytes);
  const pauses = new Pauses();
  try {
    const length = yield* compact(bytes, outline, pauses);
    if (outline.objects.length > 0) yield* writeSorted(bytes, length, outline, write, pauses);
    else if (length <= CHUNK_BYTES) write(length === bytes.length ? bytes : bytes.subarray(0, length));
    else yield* writeAll(bytes.subarray(0, length), write, pauses);
  } finally {
    outline.free();
    if (bytes.length > MIN_FREED_BYTES) bytes.buffer.transfer(0);
  }
}

/** Moves the tokens of a text together, which removes the white space. Returns their length. */
function* compact(bytes: Buffer, outline: Outline, pauses: Pauses): SlicedWork<number> {
  let length = 0;
  let mayBeginMember = false;
  for (let start = 0, end: number; start < bytes.length; start = end) {
    const byte = bytes[start] as number;
    end = tokenEnd(bytes, start);
    if (pauses.after(STEPS_PER_TOKEN + end - start)) yield;
    if (isSpace(byte)) continue;
    if (mayBeginMember && byte !== CLOSE_OBJECT) outline.beginMember(length);
    mayBeginMember = byte === OPEN_OBJECT || (byte === COMMA && outline.isInObject);
    if (byte === OPEN_ARRAY) outline.beginArray();
    else if (byte === CLOSE_ARRAY) outline.endArray();
    else if (byte === OPEN_OBJECT) outline.beginObject(length);
    else if (byte === CLOSE_OBJECT) {
      const sorting = outline.endObject(length, pauses);
      if (sorting) yield* sorting;
    } else if (mayBeginMember) outline.endMember(length);
    if (start > length) copy(bytes, start, end, bytes, length);
    length += end - start;
  }
  return length;
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isStructure = (byte: number | undefined): boolean =>
  byte === COMMA || byte === COLON || byte === OPEN_ARRAY || byte === CLOSE_ARRAY || byte === OPEN_OBJECT || byte === CLOSE_OBJECT;

/** The index after the token that starts at `start`, or after the one character of white space there. */
function tokenEnd(bytes: Buffer, start: number): number {
  const first = bytes[start];
  let at = start + 1;
  if (first === QUOTE) {
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    return Math.min(at + 1, bytes.length);
  }
  if (isStructure(first) || isSpace(first)) return at;
  while (at < bytes.length && !isStructure(bytes[at]) && !isSpace(bytes[at])) at += 1;
  return at;
}

function* writeAll(bytes: Buffer, write: (bytes: Uint8Array) => unknown, pauses: Pauses): SlicedWork<void> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    write(bytes.subarray(at, at + CHUNK_BYTES));
    if (pauses.after(CHUNK_BYTES)) yield;
  }
}

/** An object whose members are being written. */
interface OpenObject {
  readonly object: number;
  /** How many of its members were begun. */
  begun: number;
  /** Where the surrounding text ends: the member that contains the object. */
  readonly outerEnd: number;
}

function* writeSorted(
  bytes: Buffer,
  length: number,
  { objects, members, sorted }: Outline,
  write: (bytes: Uint8Array) => unknown,
  pauses: Pauses,
): SlicedWork<void> {
  const chunks = new Chunks(Math.min(length, CHUNK_BYTES), write);
  const open: OpenObject[] = [];
  /** The position to write next, and the first object that begins there or later. */
  let at = 0;
  let end = length;
  let object = 0;
  for (;;) {
    const isObjectNext = object < objects.length && objects.get(object, START) < end;
    const to = isObjectNext ? objects.get(object, START) + 1 : end;
    while (at < to) {
      const from = at;
      at = chunks.add(bytes, from, to);
      if (pauses.after(STEPS_PER_TOKEN + at - from)) yield;
    }
    if (isObjectNext && objects.get(object, COUNT) === 0) {
      object += 1;
      continue;
    }
    if (isObjectNext) open.push({ object, begun: 0, outerEnd: end });
    const inner = open.at(-1);
    if (!inner) break;
    if (inner.begun < objects.get(inner.object, COUNT)) {
      if (inner.begun > 0) chunks.add(COMMA_BYTES, 0, 1);
      const member = sorted.get(objects.get(inner.object, FIRST) + inner.begun);
      inner.begun += 1;
      at = members.get(member, MEMBER_START);
      end = members.get(member, MEMBER_END);
      object = members.get(member, MEMBER_NEXT);
    } else {
      open.pop();
      at = objects.get(inner.object, END) - 1;
      end = inner.outerEnd;
      object = objects.get(inner.object, NEXT);
    }
  }
  chunks.flush();
}

/** Gathers bytes into chunks. */
class Chunks {
  readonly #chunk: Buffer;
  readonly #write: (bytes: Uint8Array) => unknown;
  #length = 0;

  constructor(bytes: number, write: (bytes: Uint8Array) => unknown) {
    this.#chunk = Buffer.allocUnsafe(bytes);
    this.#write = write;
  }

  /** Adds bytes from `from` to `to`: at least one, and as many as there is room for. Returns the position after the last added byte. */
  add(bytes: Buffer, from: number, to: number): number {
    if (this.#length === this.#chunk.length) this.flush();
    const end = Math.min(to, from + this.#chunk.length - this.#length);
    copy(bytes, from, end, this.#chunk, this.#length);
    this.#length += end - from;
    return end;
  }

  flush(): void {
    this.#write(this.#chunk.subarray(0, this.#length));
    this.#length = 0;
  }
}

function copy(source: Buffer, start: number, end: number, target: Buffer, at: number): void {
  if (end - start >= MIN_BLOCK_BYTES) source.copy(target, at, start, end);
  else for (let index = start; index < end; index += 1) target[at + index - start] = source[index] as number;
}
