import type { Readable } from "node:stream";
import { payloadTooLarge } from "#kernel";
import type { BodyMemory } from "./body-memory.ts";

/** Smaller bodies are kept in the pieces in which they arrive. Most arrive in one. */
const MIN_GATHERED_BYTES = 64 * 1024;

interface Expected {
  /** Bytes. */
  readonly limit: number;
  /** The announced length of the body, or NaN. Bytes. */
  readonly announced: number;
  /** Where a large body is received. */
  readonly memory: BodyMemory;
  /** Called with the length of each piece, except that of the last. */
  readonly onPiece?: ((bytes: number) => void) | undefined;
}

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Receives a body. A large body is written into one buffer as it arrives: to put it together at the end would hold the event loop for 10
 * ms, and would need its memory twice.
 */
export function receiveBody(payload: Readable, { limit, announced, memory, onPiece }: Expected, done: Done): void {
  if (announced > limit) {
    done(payloadTooLarge(limit));
    return;
  }
  const pieces: Buffer[] = [];
  let whole: Buffer | undefined;
  let length = 0;
  const onData = (piece: Buffer) => {
    const before = length;
    const pieceLength = piece.length;
    length += pieceLength;
    // Checked first: a body that is too large must not wait for a turn to be read further.
    if (length > limit) return end(payloadTooLarge(limit));
    if (whole) move(piece, whole, before);
    else if (pieces.push(piece) && length > MIN_GATHERED_BYTES) {
      whole = memory.take(Number.isNaN(announced) ? limit : announced);
      let at = 0;
      for (const one of pieces.splice(0)) at += move(one, whole, at);
    }
    const isLast = length >= announced;
    if (!isLast) onPiece?.(pieceLength);
  };
  const onEnd = () => end(null);
  // After an end or an error, nobody listens any more.
  const onClose = () => end(Object.assign(new Error("The connection was closed before the body had arrived."), { code: "ECONNRESET" }));
  const end = (error: Error | null) => {
    payload.off("data", onData).off("end", onEnd).off("error", end).off("close", onClose);
    const [first] = pieces;
    if (error) {
      if (whole) memory.release(whole);
      done(error);
    } else done(null, whole?.subarray(0, length) ?? (first && pieces.length === 1 ? first : Buffer.concat(pieces)));
  };
  payload.on("data", onData).on("end", onEnd).on("error", end).on("close", onClose);
}

/**
 * Copies a piece into its body, and releases the piece's memory now: V8 counts that memory, and would begin to collect its heap because of
 * it. Returns its length.
 */
function move(piece: Buffer, whole: Buffer, at: number): number {
  const length = piece.copy(whole, at);
  // Not if the piece shares its memory with others.
  if (piece.buffer.byteLength === length) (piece.buffer as ArrayBuffer).transfer(0);
  return length;
}

/** Releases the memory of a large body. Nothing may read it from now on. */
export function freeBody(body: Buffer, memory: BodyMemory): void {
  if (body.length > MIN_GATHERED_BYTES) memory.release(body);
}
