import type { Readable } from "node:stream";
import { problem } from "#kernel";

/** Smaller bodies are gathered in the pieces in which they come. Most come in one. */
const MIN_GATHERED_BYTES = 256 * 1024;

interface Expected {
  /** Bytes. */
  readonly limit: number;
  /** How long the body is, or NaN. */
  readonly announced: number;
  /** Called with the length of each piece, except that of the last. */
  readonly onPiece?: ((bytes: number) => void) | undefined;
}

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Receives a body. A large one is written into one buffer as it comes: to put it together at its end would hold the event loop for 10 ms,
 * and need its memory twice.
 */
export function receiveBody(payload: Readable, { limit, announced, onPiece }: Expected, done: Done): void {
  if (announced > limit) {
    done(tooLarge(limit));
    return;
  }
  const pieces: Buffer[] = [];
  let whole: Buffer | undefined;
  let length = 0;
  const onData = (piece: Buffer) => {
    const before = length;
    const pieceLength = piece.length;
    length += pieceLength;
    // Nobody may wait for a turn to read more of it.
    if (length > limit) return end(tooLarge(limit));
    if (whole) move(piece, whole, before);
    else if (pieces.push(piece) && length > MIN_GATHERED_BYTES) {
      // Memory that is not written to yet takes none. It is not one of the pool's, which would be kept by others.
      whole = Buffer.allocUnsafeSlow(Number.isNaN(announced) ? limit : announced);
      let at = 0;
      for (const one of pieces.splice(0)) at += move(one, whole, at);
    }
    const isLast = length >= announced;
    if (!isLast) onPiece?.(pieceLength);
  };
  const onEnd = () => end(null);
  const end = (error: Error | null) => {
    payload.off("data", onData).off("end", onEnd).off("error", end);
    const [first] = pieces;
    if (error) done(error);
    else done(null, whole?.subarray(0, length) ?? (first && pieces.length === 1 ? first : Buffer.concat(pieces)));
  };
  payload.on("data", onData).on("end", onEnd).on("error", end);
}

/** Copies a piece into its body, and gives its memory back as below. Returns its length. */
function move(piece: Buffer, whole: Buffer, at: number): number {
  const length = piece.copy(whole, at);
  // Not one that shares its memory with others.
  if (piece.buffer.byteLength === length) (piece.buffer as ArrayBuffer).transfer(0);
  return length;
}

/**
 * Gives the memory of a large body back now. Garbage collection would do it later and more often: what it counts beside its heap makes it
 * begin.
 */
export function freeBody({ buffer, length }: Buffer): void {
  if (length > MIN_GATHERED_BYTES) (buffer as ArrayBuffer).transfer(0);
}

const tooLarge = (limit: number): Error => problem("PAYLOAD_TOO_LARGE", { limit_bytes: limit });
