import { ARRAY_HEADER_BYTES, arrayHeaderOf, INT32_BYTES, NULL_LENGTH } from "./binary-format.ts";

const encoder = new TextEncoder();

/** An array of texts that together are large, for a parameter of the type `text[]`. A connection encodes it in pieces (client.ts). */
export class LargeTexts {
  readonly #values: readonly (string | null)[];
  readonly #lengths: number[] = [];

  constructor(values: readonly (string | null)[]) {
    this.#values = values;
  }

  /** Called by a client that does not send the texts in pieces: pg would send an empty array instead. */
  toPostgres(): never {
    throw new Error("LargeTexts need the Client of client.ts.");
  }

  /** Finds the array's length in PostgreSQL's binary format. That takes as long as encoding the array, so it pauses after each value. */
  *measure(): Generator<null, number> {
    let sum = ARRAY_HEADER_BYTES;
    for (const [index, value] of this.#values.entries()) {
      const length = value === null ? NULL_LENGTH : Buffer.byteLength(value);
      this.#lengths[index] = length;
      sum += INT32_BYTES + Math.max(0, length);
      yield null;
    }
    return sum;
  }

  /** Encodes the array, after `measure`. */
  *encode(to: Pieces): Generator<Buffer, void> {
    for (const field of arrayHeaderOf(this.#values)) yield* to.addInt32(field);
    for (const [index, value] of this.#values.entries()) {
      yield* to.addInt32(this.#lengths[index] ?? NULL_LENGTH);
      if (value !== null) yield* to.addText(value);
    }
  }
}

/** Builds a message piece by piece in one buffer: each full piece is yielded, and has been sent when the next one begins. */
export class Pieces {
  readonly #buffer: Buffer;
  #length = 0;

  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(bytes);
  }

  /** What was added since the last full piece. */
  get rest(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  *addInt32(value: number): Generator<Buffer, void> {
    if (this.#length + INT32_BYTES > this.#buffer.length) yield* this.#next();
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
  }

  *addText(text: string): Generator<Buffer, void> {
    for (let rest = text; rest !== ""; ) {
      const { read, written } = encoder.encodeInto(rest, this.#buffer.subarray(this.#length));
      this.#length += written;
      rest = rest.slice(read);
      if (rest !== "") yield* this.#next();
    }
  }

  *addBytes(bytes: Uint8Array): Generator<Buffer, void> {
    for (let from = 0; from < bytes.length; ) {
      const to = Math.min(bytes.length, from + this.#buffer.length - this.#length);
      this.#buffer.set(bytes.subarray(from, to), this.#length);
      this.#length += to - from;
      from = to;
      if (from < bytes.length) yield* this.#next();
    }
  }

  *#next(): Generator<Buffer, void> {
    yield this.rest;
    this.#length = 0;
  }
}
