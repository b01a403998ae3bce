import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { type ReadConnection, ResponseTurns } from "./response-turns.ts";

/** Limits of what may come before a response's body: its head, and the hints and empty lines before the head. */
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_HEAD_LINES = 128;
/** After the head, the parser gets at most this many bytes at once, unless they belong to a body whose length the head has announced. */
const SLICE_BYTES = 1024;
/** The maximum number of bytes after the head that do not belong to the body: chunk extensions and trailers. */
const MAX_EXTRA_BYTES = 1024;
/** The frame of a chunk: its length in 16 digits, and two line ends. */
const CHUNK_FRAME_BYTES = 16 + "\r\n\r\n".length;
/** How many pieces of a body each slice may contain, and how many more in total. A piece is a chunk, or the part of it in one slice. */
const PIECES_PER_SLICE = 16;
const MAX_PIECES = 1_000;
const LINE_FEED = 10;
const EMPTY = Buffer.alloc(0);

/** A response that is not valid HTTP, or that exceeds a limit. */
export class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
  readonly code = "INVALID_RESPONSE";
}

/**
 * Passes the bytes of a connection to the HTTP parser in small slices. Closes the connection when too many bytes are not part of a body, or
 * when the body arrives in pieces that are too small. The parser itself has no limit for either. It makes two buffers for each line of a
 * head or a trailer, and one for each chunk: 64 KiB at once can cost 4 MB and 7 ms. A body without chunks passes as it comes: in slices, a
 * response of 60 kB would take a third more processor time.
 */
export class ResponseLimiter {
  readonly #socket: Socket;
  readonly #read: () => Buffer | null;
  /** Bytes that were read and not yet passed to the parser. */
  #rest: Buffer = EMPTY;
  #inBody = false;
  /** How many more bytes the body has, if the head has announced its length. Such a body has no chunks. */
  #bodyBytesLeft = 0;
  /** In a head, the number of all bytes so far. In a body, the number of bytes that are not known to be part of it. */
  #bytes = 0;
  #lines = 0;
  #pieces = 0;
  /** How much the connection had sent when its last response ended. */
  #sentBefore = 0;

  constructor(socket: Socket, read: () => Buffer | null) {
    this.#socket = socket;
    this.#read = read;
  }

  /**
   * Whether to read on now, even if other connections wait for their turns. What has already been read must be passed on before the parser
   * sees the end of the connection. And if nothing was sent since the last response, unrequested data must be seen before the next request
   * is sent.
   */
  get isUrgent(): boolean {
    return this.#rest.length > 0 || this.#socket.bytesWritten === this.#sentBefore;
  }

  /** The next slice for the parser, or null when there is none or a limit was exceeded. */
  next(): Buffer | null {
    if (this.#rest.length === 0) this.#rest = this.#read() ?? EMPTY;
    if (this.#rest.length === 0) return null;
    const slice = this.#rest.subarray(0, this.#inBody ? this.#bodySliceEnd() : this.#headSliceEnd());
    this.#rest = this.#socket.destroyed ? EMPTY : this.#rest.subarray(slice.length);
    return this.#socket.destroyed ? null : slice;
  }

  /** @param length length of the body, if the head has announced it. Bytes */
  beginBody(length: number | null): void {
    this.#inBody = true;
    this.#bodyBytesLeft = length ?? 0;
    this.#bytes = 0;
    this.#pieces = 0;
  }

  /** Counts a piece of a body as one chunk. */
  addBody(bytes: number): void {
    this.#bytes -= bytes + CHUNK_FRAME_BYTES;
    this.#pieces += 1;
    if (this.#pieces > MAX_PIECES) this.#refuse("chunks are too small");
  }

  endResponse(): void {
    this.#inBody = false;
    this.#bodyBytesLeft = 0;
    this.#bytes = 0;
    this.#lines = 0;
    this.#sentBefore = this.#socket.bytesWritten;
  }

  /** The end of a slice of a head: after an empty line, because what follows may be a body, whose lines do not count. */
  #headSliceEnd(): number {
    const end = this.#headEnd();
    this.#bytes += end;
    if (this.#bytes > MAX_HEAD_BYTES || this.#lines > MAX_HEAD_LINES) this.#refuse("headers are too long");
    return end;
  }

  #headEnd(): number {
    for (let begin = 0; ; ) {
      const end = this.#rest.indexOf(LINE_FEED, begin) + 1;
      if (end === 0) return Math.min(this.#rest.length, MAX_HEAD_BYTES);
      this.#lines += 1;
      if (end - begin <= "\r\n".length || this.#lines > MAX_HEAD_LINES) return end;
      begin = end;
    }
  }

  #bodySliceEnd(): number {
    this.#pieces = Math.max(0, this.#pieces - PIECES_PER_SLICE);
    if (this.#bodyBytesLeft > 0) {
      const end = Math.min(this.#rest.length, this.#bodyBytesLeft);
      this.#bodyBytesLeft -= end;
      return end;
    }
    const end = Math.min(this.#rest.length, SLICE_BYTES);
    if (this.#bytes > MAX_EXTRA_BYTES) this.#refuse("chunks or trailers are too long");
    this.#bytes = Math.max(0, this.#bytes) + end;
    return end;
  }

  #refuse(what: string): void {
    this.#socket.destroy(new InvalidResponseError(`The response's ${what}.`));
  }
}

/**
 * Gives each connection a limiter, and its turns to be read. `onRead` gets the limiter of the connection whose bytes the parser reads, and null
 * afterwards.
 */
export function limitResponses(
  connect: buildConnector.connector,
  onRead: (limiter: ResponseLimiter | null) => void,
  turns = new ResponseTurns(),
): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      const read = socket.read.bind(socket);
      const limiter = new ResponseLimiter(socket, read);
      // The parser reads when the socket says that it is readable.
      const resume = () => void socket.emit("readable");
      const connection: ReadConnection = { origin: `${options.protocol}//${options.host ?? options.hostname}`, resume };
      // The parser calls read() without a size, the stream itself with one.
      socket.read = (bytes) => {
        if (bytes !== undefined) return read(bytes);
        const slice = limiter.isUrgent || turns.mayRead(connection) ? limiter.next() : null;
        onRead(slice && limiter);
        return slice;
      };
      callback(null, socket);
    });
  };
}
