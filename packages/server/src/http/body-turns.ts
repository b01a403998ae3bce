import type { Readable } from "node:stream";
import { RoundRobinQueue, type WorkspaceId } from "#kernel";

/** How much is read from all bodies together in one turn of the event loop. 1 MiB takes about a millisecond. Bytes. */
const TURN_BYTES = 1024 * 1024;
/** How much is read at a time. Bytes. */
const PIECE_BYTES = 64 * 1024;

interface Reading {
  readonly workspaceId: WorkspaceId;
  readonly payload: Readable;
  /** How much may still be read of it in this turn. Bytes. */
  left: number;
}

/**
 * Shares the reading of bodies among workspaces. Node reads up to 2 MiB from each connection in one turn of the event loop, so ten large
 * bodies would hold the event loop for 20 ms or more.
 */
export class BodyTurns {
  /** Bodies of which no more is read until their next turn. */
  readonly #line = new RoundRobinQueue<Reading>();

  /** Returns a function to call with the length of each piece that has arrived, except the last. */
  begin(workspaceId: WorkspaceId, payload: Readable): (bytes: number) => void {
    const reading = { workspaceId, payload, left: PIECE_BYTES };
    return (bytes) => {
      reading.left -= bytes;
      if (reading.left <= 0) this.#wait(reading);
    };
  }

  #wait(reading: Reading): void {
    reading.payload.pause();
    this.#line.add(reading);
    if (this.#line.size === 1) setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    const bodies = Math.min(this.#line.size, TURN_BYTES / PIECE_BYTES);
    for (const reading of this.#line.take(bodies)) {
      reading.left = TURN_BYTES / bodies;
      reading.payload.resume();
    }
    if (this.#line.size > 0) setImmediate(this.#turn);
  };
}
