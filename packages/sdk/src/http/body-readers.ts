import type { Bytes } from "./node.ts";

/** Reads the body of a response, as its bytes come. */
export interface BodyReader {
  /** @returns how many of these bytes belong to the body, if it ends with them; null if more of it must come */
  read(bytes: Bytes): number | null;
  /** Whether the body is whole when the connection ends now. */
  readonly endsWithConnection: boolean;
}

/** Longest line between two chunks: a size with extensions, or a trailer. */
const MAX_LINE = 16_384;
const MAX_TRAILERS = 65_536;

/** UTF-8 in pieces. */
export class Utf8Text {
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  #text = "";

  add(bytes: Bytes, isLast: boolean): void {
    if (isLast && !this.#decoder) {
      this.#text = bytes.toString("utf8");
      return;
    }
    this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    this.#text += this.#decoder.decode(bytes, { stream: !isLast });
  }

  /** The whole text. Called once, at its end. */
  end(): string {
    return this.#decoder ? this.#text + this.#decoder.decode() : this.#text;
  }
}

/** A body of a length that is known. */
export class SizedBody implements BodyReader {
  readonly endsWithConnection = false;
  readonly #text: Utf8Text;
  #left: number;

  /**
   * @param text gets the body, as of the other readers
   * @param length in bytes
   */
  constructor(text: Utf8Text, length: number) {
    this.#text = text;
    this.#left = length;
  }

  read(bytes: Bytes): number | null {
    const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= part.length;
    this.#text.add(part, this.#left === 0);
    return this.#left === 0 ? part.length : null;
  }
}

/** A body that ends with the connection. */
export class OpenBody implements BodyReader {
  readonly endsWithConnection = true;
  readonly #text: Utf8Text;

  constructor(text: Utf8Text) {
    this.#text = text;
  }

  read(bytes: Bytes): null {
    this.#text.add(bytes, false);
    return null;
  }
}

/** A body in chunks (RFC 9112, 7.1). Extensions and trailers are ignored. */
export class ChunkedBody implements BodyReader {
  readonly endsWithConnection = false;
  readonly #text: Utf8Text;
  #next: "size" | "end of chunk" | "trailer" = "size";
  /** Bytes of the chunk that must still come. */
  #left = 0;
  /** What has come of a line. */
  #line = "";
  #trailerLength = 0;

  constructor(text: Utf8Text) {
    this.#text = text;
  }

  /** @throws {Error} if these are not chunks */
  read(bytes: Bytes): number | null {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const chunk = bytes.subarray(at, at + this.#left);
        this.#text.add(chunk, false);
        this.#left -= chunk.length;
        at += chunk.length;
        continue;
      }
      const end = bytes.indexOf(NEWLINE, at) + 1;
      this.#line += bytes.toString("latin1", at, end || bytes.length);
      if (this.#line.length > MAX_LINE) throw new Error("The response has a line that is too long.");
      if (end === 0) return null;
      at = end;
      if (this.#endLine()) return at;
    }
    return null;
  }

  /** @returns whether the body ends with this line */
  #endLine(): boolean {
    const line = this.#line;
    this.#line = "";
    if (!line.endsWith("\r\n")) throw new Error("The response has a line without its end.");
    if (this.#next === "trailer") {
      this.#trailerLength += line.length;
      if (this.#trailerLength > MAX_TRAILERS) throw new Error("The response has too many trailers.");
      return line === "\r\n";
    }
    if (this.#next === "end of chunk") {
      if (line !== "\r\n") throw new Error("The response has a chunk that is longer than its size.");
      this.#next = "size";
      return false;
    }
    const [, size] = /^0*([0-9a-f]{1,13})[ \t]*(?:;.*)?\r\n$/i.exec(line) ?? [];
    if (size === undefined) throw new Error("The response has a chunk without its size.");
    this.#left = Number.parseInt(size, 16);
    this.#next = this.#left === 0 ? "trailer" : "end of chunk";
    return false;
  }
}

const NEWLINE = 10;
