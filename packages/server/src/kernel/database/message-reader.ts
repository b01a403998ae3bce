import type { Readable } from "node:stream";
import { ReadConnection, type ReadTurns } from "./read-turns.ts";

/**
 * The sizes of a message's type and of its length field. The length includes the length field itself. Source: PostgreSQL, Message Formats.
 */
const TYPE_BYTES = 1;
const HEADER_BYTES = TYPE_BYTES + 4;
/** Longer messages are put together in memory that is reused. */
const MIN_KEPT_BYTES = 64 * 1024;
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** The memory of a longer message is not kept. */
const MAX_EACH_BYTES = 4 * 1024 * 1024;
const ROUND_BYTES = 256 * 1024;
/** The maximum length of a message from PostgreSQL, and the size in which PostgreSQL sends. */
const MAX_BYTES = 1024 * 1024 * 1024;
const MIN_PIECE_BYTES = 8 * 1024;

type Parse = (messages: Buffer) => void;

/** The source from which pg reads messages. */
export interface MessageSource {
  on(event: "data" | "end", listener: (messages: Buffer) => void): void;
}

/**
 * Gives pg complete messages of a connection. pg itself would put a long message together in buffers that it doubles, and copy it three
 * times into new memory: for rows of 1 MiB, that held the event loop for up to 100 ms. A long result is read in turns (`ReadTurns`).
 */
export class MessageReader implements MessageSource {
  readonly #connection: ReadConnection;
  readonly #turns: ReadTurns;
  readonly #header = Buffer.allocUnsafe(HEADER_BYTES);
  #headerBytes = 0;
  /** The message that has arrived in part. */
  #message: Buffer | null = null;
  #messageBytes = 0;

  constructor(stream: Readable, turns: ReadTurns) {
    this.#connection = new ReadConnection(stream);
    this.#turns = turns;
  }

  on(event: "data" | "end", listener: Parse): void {
    if (event === "data") this.#connection.stream.on("data", (piece: Buffer) => this.#receive(piece, listener));
    else this.#connection.stream.on(event, listener);
  }

  #receive(piece: Buffer, parse: Parse): void {
    const read = () => this.#read(piece, parse);
    if (piece.length < MIN_PIECE_BYTES) read();
    else this.#turns.read(this.#connection, piece.length, read);
  }

  #read(piece: Buffer, parse: Parse): void {
    const start = this.#message || this.#headerBytes > 0 ? this.#complete(piece, parse) : 0;
    let end = start;
    while (piece.length - end >= HEADER_BYTES) {
      const next = end + lengthAt(piece, end);
      if (next > piece.length) break;
      end = next;
    }
    if (end > start) parse(start === 0 && end === piece.length ? piece : piece.subarray(start, end));
    if (end < piece.length) this.#keep(piece, end);
  }

  /** Adds to the message that has arrived in part. Returns how much of the piece belongs to it. */
  #complete(piece: Buffer, parse: Parse): number {
    let at = 0;
    if (!this.#message) {
      at = piece.copy(this.#header, this.#headerBytes);
      this.#headerBytes += at;
      if (this.#headerBytes < HEADER_BYTES) return at;
      this.#headerBytes = 0;
      this.#begin(this.#header, 0);
    }
    const message = this.#message as Buffer | null;
    if (!message) return piece.length;
    const added = piece.copy(message, this.#messageBytes, at);
    this.#messageBytes += added;
    if (this.#messageBytes === message.length) {
      this.#message = null;
      parse(message);
      release(message);
    }
    return at + added;
  }

  /** Keeps the beginning of a message. */
  #keep(piece: Buffer, start: number): void {
    if (piece.length - start >= HEADER_BYTES) this.#begin(piece, start);
    else this.#headerBytes = piece.copy(this.#header, 0, start);
  }

  #begin(piece: Buffer, start: number): void {
    const length = lengthAt(piece, start);
    if (length > MAX_BYTES) {
      this.#connection.stream.destroy(new Error("The received data is not a message of PostgreSQL."));
      return;
    }
    this.#message = take(length);
    this.#messageBytes = piece.copy(this.#message, 0, start);
  }
}

const lengthAt = (piece: Buffer, start: number): number => TYPE_BYTES + piece.readUInt32BE(start + TYPE_BYTES);

/**
 * Memory of long messages that were parsed, least recently used first. pg keeps only texts of a message, except for COPY data, which is not
 * used here.
 */
const kept: ArrayBuffer[] = [];
let keptBytes = 0;

function take(bytes: number): Buffer {
  if (bytes < MIN_KEPT_BYTES) return Buffer.allocUnsafe(bytes);
  const at = smallestFor(bytes);
  const [memory] = at >= 0 ? kept.splice(at, 1) : [];
  keptBytes -= memory?.byteLength ?? 0;
  return memory ? Buffer.from(memory, 0, bytes) : Buffer.allocUnsafeSlow(Math.ceil(bytes / ROUND_BYTES) * ROUND_BYTES).subarray(0, bytes);
}

/** The index of the smallest memory that suffices; -1 if none does. */
const smallestFor = (bytes: number): number =>
  kept.reduce((best, { byteLength }, at) => {
    if (byteLength < bytes) return best;
    return best >= 0 && (kept[best] as ArrayBuffer).byteLength <= byteLength ? best : at;
  }, -1);

function release({ length, buffer }: Buffer): void {
  // Short messages are in memory that Node shares among buffers.
  if (length < MIN_KEPT_BYTES || buffer.byteLength > MAX_EACH_BYTES) return;
  kept.push(buffer as ArrayBuffer);
  keptBytes += buffer.byteLength;
  while (keptBytes > MAX_KEPT_BYTES) keptBytes -= kept.shift()?.byteLength ?? 0;
}
