import { Readable } from "node:stream";
import type { WorkspaceId } from "#kernel";
import { type LongResponse, SendingTurns } from "./sending-turns.ts";

/** A longer text is sent in chunks: encoding 16 MB at once holds the event loop for 40 ms. Characters. */
const MAX_AT_ONCE = 256 * 1024;

/** Whose response it is, when it is no workspace's. */
const NO_WORKSPACE = "" as WorkspaceId;

/** Of all responses of the process. */
const turns = new SendingTurns();

/**
 * A long JSON text. Its chunks are strings, which Node encodes into memory that it frees at once. Buffers would wait for a garbage collection,
 * and make it begin earlier.
 */
export class JsonStream extends Readable implements LongResponse {
  /** Of the whole text. */
  readonly characters: number;
  /** Whose turn it is when a chunk is sent. It stays so from the first one on. */
  workspaceId: WorkspaceId = NO_WORKSPACE;
  readonly #chunks: Iterator<string, void>;

  constructor(parts: readonly string[], characters: number) {
    super({ objectMode: true, highWaterMark: 1 });
    this.characters = characters;
    this.#chunks = chunksOf(parts);
  }

  override _read(): void {
    turns.next(this);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    turns.leave(this);
    callback(error);
  }

  sendOne(): void {
    if (!this.destroyed) this.push(this.#chunks.next().value ?? null);
  }
}

/** A JSON text in parts, for a response: as one string, or as a stream of chunks when it is long. */
export function jsonText(parts: readonly string[]): string | JsonStream {
  const characters = parts.reduce((sum, { length }) => sum + length, 0);
  return characters <= MAX_AT_ONCE ? parts.join("") : new JsonStream(parts, characters);
}

/** The items of a JSON array with commas between them, as parts. */
export const jsonItems = (items: readonly string[]): string[] => items.flatMap((item, index) => (index === 0 ? [item] : [",", item]));

function* chunksOf(parts: readonly string[]): Generator<string, void> {
  let chunk = "";
  for (const part of parts) {
    for (let at = 0; at < part.length; ) {
      let end = at + MAX_AT_ONCE - chunk.length;
      // Both halves of a character must be encoded together.
      if (isFirstHalf(part.charCodeAt(end - 1))) end += 1;
      chunk += part.slice(at, end);
      at = end;
      if (chunk.length < MAX_AT_ONCE) continue;
      yield chunk;
      chunk = "";
    }
  }
  if (chunk !== "") yield chunk;
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
