import { ENCODERS } from "./encoders.ts";

/** A piece of a value with this many characters counts as a leak. Hints are shorter. */
const PIECE = 12;
const KEY_BYTES = 4;

interface Piece {
  readonly bytes: Buffer;
  /** The value's name, and its encoding. */
  readonly label: string;
}

/**
 * Searches bytes for pieces of values: the beginning, the middle and the end of each, in every encoding of `encoders.ts`. So it also
 * finds values that were cut off.
 */
export class Search {
  readonly #pieces = new Map<number, Piece[]>();
  readonly #begin = new Uint8Array(2 ** 16);

  constructor(values: Readonly<Record<string, string>>) {
    for (const [name, value] of Object.entries(values)) {
      for (const [encoding, encode] of Object.entries(ENCODERS)) this.#add(encode(value), value.length, `${name}: ${encoding}`);
    }
  }

  /** Returns which values the bytes contain, and in which encoding. */
  in(bytes: Buffer): string[] {
    const found = new Set<string>();
    for (let at = 0; at + KEY_BYTES <= bytes.length; at += 1) {
      if (this.#begin[bytes.readUInt16LE(at)] === 0) continue;
      for (const piece of this.#pieces.get(bytes.readUInt32LE(at)) ?? []) {
        if (bytes.subarray(at, at + piece.bytes.length).equals(piece.bytes)) found.add(piece.label);
      }
    }
    return [...found];
  }

  #add(written: string, characters: number, label: string): void {
    const length = Math.max(PIECE, Math.ceil((written.length * PIECE) / characters));
    for (const from of [0, Math.floor((written.length - length) / 2), written.length - length]) {
      const bytes = Buffer.from(written.slice(from, from + length));
      const key = bytes.readUInt32LE(0);
      this.#pieces.set(key, [...(this.#pieces.get(key) ?? []), { bytes, label }]);
      this.#begin[bytes.readUInt16LE(0)] = 1;
    }
  }
}
