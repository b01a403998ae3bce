import { Readable } from "node:stream";

/** A longer text is sent in chunks: encoding 16 MB at once holds the event loop for 40 ms. */
const MAX_AT_ONCE = 256 * 1024;
/** How many chunks are sent in one turn of the event loop. They take about 2 ms. A client that reads fast would take all in one turn. */
const CHUNKS_IN_A_TURN = 4;

/**
 * A long JSON text. Its chunks are strings, which Node encodes into memory that it frees at once. Buffers would wait for a garbage collection,
 * and make it begin earlier.
 */
export class JsonStream extends Readable {
  /** Of the whole text. */
  readonly characters: number;
  readonly #chunks: Iterator<string, void>;
  /** How many more chunks this turn sends. */
  #left = CHUNKS_IN_A_TURN;

  constructor(parts: readonly string[], characters: number) {
    super({ objectMode: true, highWaterMark: 1 });
    this.characters = characters;
    this.#chunks = chunksOf(parts);
  }

  override _read(): void {
    if (this.#left > 0) this.#sendOne();
    else {
      setImmediate(() => {
        this.#left = CHUNKS_IN_A_TURN;
        this.#sendOne();
      });
    }
  }

  #sendOne(): void {
    if (this.destroyed) return;
    this.#left -= 1;
    this.push(this.#chunks.next().value ?? null);
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
    chunk += part;
    if (chunk.length < MAX_AT_ONCE) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}
