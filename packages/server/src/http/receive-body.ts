import type { Readable } from "node:stream";
import { problem } from "#kernel";

/** Smaller bodies are gathered in the pieces in which they come. Most come in one. */
const MIN_GATHERED_BYTES = 256 * 1024;

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Receives a body. A large one is written into one buffer as it comes: to put it together at its end would hold the event loop for 10 ms,
 * and need its memory twice.
 *
 * @param announced its length, or NaN
 */
export function receiveBody(payload: Readable, limit: number, announced: number, done: Done): void {
  if (announced > limit) {
    done(tooLarge(limit));
    return;
  }
  const pieces: Buffer[] = [];
  let whole: Buffer | undefined;
  let length = 0;
  const onData = (piece: Buffer) => {
    const before = length;
    length += piece.length;
    if (length > limit) end(tooLarge(limit));
    else if (whole) piece.copy(whole, before);
    else if (pieces.push(piece) && length > MIN_GATHERED_BYTES) {
      // Memory that is not written to yet takes none. It is not one of the pool's, which would be kept by others.
      whole = Buffer.allocUnsafeSlow(Number.isNaN(announced) ? limit : announced);
      let at = 0;
      for (const one of pieces.splice(0)) at += one.copy(whole, at);
    }
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

/**
 * Gives the memory of a large body back now. Garbage collection would do it later and more often: what it counts beside its heap makes it
 * begin.
 */
export function freeBody({ buffer, length }: Buffer): void {
  if (length > MIN_GATHERED_BYTES) (buffer as ArrayBuffer).transfer(0);
}

const tooLarge = (limit: number): Error => problem("PAYLOAD_TOO_LARGE", { limit_bytes: limit });
