import { Readable } from "node:stream";

/** A longer text is sent in chunks: encoding 16 MB at once holds the event loop for 40 ms. */
const MAX_AT_ONCE = 256 * 1024;

/** A long JSON text, of which each chunk is encoded when it is taken. */
export class JsonStream extends Readable {
  /** Of the whole text. */
  readonly characters: number;
  readonly #chunks: Iterator<Buffer, void>;

  constructor(parts: readonly string[], characters: number) {
    super();
    this.characters = characters;
    this.#chunks = chunksOf(parts);
  }

  override _read(): void {
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

function* chunksOf(parts: readonly string[]): Generator<Buffer, void> {
  let chunk = "";
  for (const part of parts) {
    chunk += part;
    if (chunk.length < MAX_AT_ONCE) continue;
    yield Buffer.from(chunk);
    chunk = "";
  }
  if (chunk !== "") yield Buffer.from(chunk);
}
