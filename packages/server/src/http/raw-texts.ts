import { isAscii } from "node:buffer";
import { JSON_SLICE_BYTES, type SlicedWork } from "#kernel";

/** A smaller body is gone before two garbage collections. */
const MIN_SHARED_BYTES = 256 * 1024;
/** Garbage collection does not move strings of this length. */
const SHARED_BYTES = 256 * 1024;

/**
 * Reads parts of a body as texts. The texts of a large body are slices of longer strings: garbage collections would copy a thousand strings
 * of 16 KB while the body is processed, and hold the event loop for 10 to 40 ms. Each string has about 256 KiB, so that a part that is kept
 * longer than its body does not keep all of the body.
 */
export class RawTexts {
  readonly all: string[] = [];
  readonly #bytes: Buffer;
  /** Starts and ends of the parts that are not read yet. */
  #starts: number[] = [];
  #ends: number[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get count(): number {
    return this.all.length + this.#starts.length;
  }

  /** Adds a part. Parts come in their order. Returns whether to read what was added. */
  add(start: number, end: number): boolean {
    if (this.#bytes.length < MIN_SHARED_BYTES) {
      this.all.push(this.#bytes.toString("utf8", start, end));
      return false;
    }
    this.#starts.push(start);
    this.#ends.push(end);
    return end - (this.#starts[0] ?? end) >= SHARED_BYTES;
  }

  /** Reads the parts that were added since the last time. */
  *readAdded(): SlicedWork<void> {
    if (this.#starts.length === 0) return;
    const [from, to] = [this.#starts[0] ?? 0, this.#ends.at(-1) ?? 0];
    const shared = this.#bytes.subarray(from, to);
    const isPlain = isAscii(shared);
    const text = isPlain ? shared.toString("latin1") : shared.toString();
    yield;
    let [byte, character] = [from, 0];
    for (const [index, start] of this.#starts.entries()) {
      const end = this.#ends[index] ?? start;
      if (isPlain) this.all.push(text.slice(start - from, end - from));
      else {
        const begin = character + (yield* charactersOf(this.#bytes, byte, start));
        character = begin + (yield* charactersOf(this.#bytes, start, end));
        byte = end;
        this.all.push(text.slice(begin, character));
      }
    }
    this.#starts = [];
    this.#ends = [];
  }
}

/** The number of characters (UTF-16 units) in the bytes of a valid UTF-8 text. */
function* charactersOf(bytes: Buffer, start: number, end: number): SlicedWork<number> {
  let count = 0;
  for (let at = start, pauseAt = start + JSON_SLICE_BYTES; at < end; at += 1) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + JSON_SLICE_BYTES;
    }
    const byte = bytes[at] ?? 0;
    // A continuation byte adds nothing, and the first byte of a character beyond U+FFFF a pair.
    if (byte < 0x80 || byte >= 0xc0) count += byte >= 0xf0 ? 2 : 1;
  }
  return count;
}
