import { Readable } from "node:stream";
import { type JsonParts, lengthOfParts, type WorkspaceId } from "#kernel";
import { chunksOf, MAX_CHUNK, pushSome } from "./chunks.ts";
import { type LongResponse, sendingTurns } from "./sending-turns.ts";

/** The media type of responses that are JSON, for those that are sent as text. */
export const JSON_TYPE = "application/json; charset=utf-8";

/** Stands for the workspace of a response that belongs to none. */
const NO_WORKSPACE = "" as WorkspaceId;

/**
 * A long JSON text. Its chunks are strings, which Node encodes into memory that it frees immediately. Buffers would wait for a garbage
 * collection, and make it begin earlier.
 */
export class JsonStream extends Readable implements LongResponse {
  /** The length of the whole text. */
  readonly characters: number;
  /** The workspace whose turn it is when a chunk is sent. It does not change after the first chunk. */
  workspaceId: WorkspaceId = NO_WORKSPACE;
  readonly #chunks: Iterator<string, void>;

  constructor(parts: JsonParts, characters: number) {
    super({ objectMode: true, highWaterMark: 1 });
    this.characters = characters;
    this.#chunks = chunksOf(parts);
  }

  override _read(): void {
    sendingTurns.next(this);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    sendingTurns.leave(this);
    callback(error);
  }

  sendSome(): void {
    if (!this.destroyed && !pushSome(this, this.#chunks)) this.push(null);
  }
}

/** A JSON text for a response: as one string, or as a stream of chunks when it is long. */
export function jsonText(parts: JsonParts): string | JsonStream {
  const characters = lengthOfParts(parts);
  return characters <= MAX_CHUNK ? parts.join("") : new JsonStream(parts, characters);
}

/** The items of a JSON array with commas between them. */
export const jsonItems = (items: readonly JsonParts[]): string[] => items.flatMap((item, index) => (index === 0 ? item : [",", ...item]));
