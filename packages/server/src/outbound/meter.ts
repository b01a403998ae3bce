import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** Most of what may come before an answer's body: its head, and hints and empty lines before that. */
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_HEAD_LINES = 128;
/** Of what comes after the head, the parser gets as much at once. */
const SLICE_BYTES = 1024;
/** Most bytes after the head that are not the body: extensions of chunks, trailers. */
const MOST_EXTRA_BYTES = 1024;
/** What may stand around a chunk: its length in 16 digits, and two ends of lines. */
const CHUNK_FRAME_BYTES = 16 + "\r\n\r\n".length;
/** Pieces of a body that each slice may bring, and how many more may come in all. A piece is a chunk, or what a slice has of it. */
const PIECES_A_SLICE = 16;
const MOST_PIECES = 1_000;
const LINE_FEED = 10;
const NOTHING = Buffer.alloc(0);

/** An answer that is not one. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  readonly code = "BAD_ANSWER";
}

/**
 * Hands the parser what comes over a connection bit by bit, and closes the connection when too much of it is no body, or the body
 * comes in too small pieces. The parser would take both without end. For each line of a head or a trailer it makes two buffers,
 * for each chunk another: of 64 KiB that it is given at once, that is 4 MB and 7 ms.
 */
export class Meter {
  readonly #socket: Socket;
  readonly #read: () => Buffer | null;
  /** What was read and is not handed on yet. */
  #rest: Buffer = NOTHING;
  #inBody = false;
  /** In a head all that came, in a body what is not known to be part of it. */
  #bytes = 0;
  #lines = 0;
  #pieces = 0;

  constructor(socket: Socket, read: () => Buffer | null) {
    this.#socket = socket;
    this.#read = read;
  }

  /** What the parser gets next; null when there is nothing, or too much. */
  next(): Buffer | null {
    if (this.#rest.length === 0) this.#rest = this.#read() ?? NOTHING;
    if (this.#rest.length === 0) return null;
    const slice = this.#rest.subarray(0, this.#inBody ? this.#sliceOfBody() : this.#sliceOfHead());
    this.#rest = this.#socket.destroyed ? NOTHING : this.#rest.subarray(slice.length);
    return this.#socket.destroyed ? null : slice;
  }

  beginBody(): void {
    this.#inBody = true;
    this.#bytes = 0;
    this.#pieces = 0;
  }

  /** A piece of a body, as if it were a chunk. */
  addBody(bytes: number): void {
    this.#bytes -= bytes + CHUNK_FRAME_BYTES;
    this.#pieces += 1;
    if (this.#pieces > MOST_PIECES) this.#refuse("chunks are too small");
  }

  endAnswer(): void {
    this.#inBody = false;
    this.#bytes = 0;
    this.#lines = 0;
  }

  /** Ends with an empty line: what follows may be a body, whose lines do not count. */
  #sliceOfHead(): number {
    const end = this.#endOfLines();
    this.#bytes += end;
    if (this.#bytes > MOST_HEAD_BYTES || this.#lines > MOST_HEAD_LINES) this.#refuse("headers are too long");
    return end;
  }

  #endOfLines(): number {
    for (let begin = 0; ; ) {
      const end = this.#rest.indexOf(LINE_FEED, begin) + 1;
      if (end === 0) return Math.min(this.#rest.length, MOST_HEAD_BYTES);
      this.#lines += 1;
      if (end - begin <= "\r\n".length || this.#lines > MOST_HEAD_LINES) return end;
      begin = end;
    }
  }

  #sliceOfBody(): number {
    const end = Math.min(this.#rest.length, SLICE_BYTES);
    if (this.#bytes > MOST_EXTRA_BYTES) this.#refuse("chunks or trailers are too long");
    this.#bytes = Math.max(0, this.#bytes) + end;
    this.#pieces = Math.max(0, this.#pieces - PIECES_A_SLICE);
    return end;
  }

  #refuse(what: string): void {
    this.#socket.destroy(new AnswerError(`The answer's ${what}.`));
  }
}

/** Connections with a meter each. `onRead` is told of the one whose bytes the parser is given, and of null afterwards. */
export function metered(connect: buildConnector.connector, onRead: (meter: Meter | null) => void): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      const read = socket.read.bind(socket);
      const meter = new Meter(socket, read);
      // The parser asks for all that there is; the stream itself for an amount.
      socket.read = (bytes) => {
        if (bytes !== undefined) return read(bytes);
        const slice = meter.next();
        onRead(slice && meter);
        return slice;
      };
      callback(null, socket);
    });
  };
}
