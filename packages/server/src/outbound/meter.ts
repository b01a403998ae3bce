import type { Socket } from "node:net";
import type { buildConnector } from "undici";

/** Most bytes of an answer's head; and the most that may come before and after it that are not its body. */
export const MOST_HEAD_BYTES = 16 * 1024;
/** What stands around a chunk besides its length. */
const CHUNK_SEPARATORS = "\r\n\r\n".length;

/** An answer that is not one. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  readonly code = "BAD_ANSWER";
}

/**
 * Counts what comes over a connection, and closes it when too much of that is no part of an answer. The parser would take status
 * lines, hints, empty lines and extensions of chunks without end, and a head or a trailer that it holds is 60 times as large in
 * memory as it came: 64 KiB made 4 MB.
 */
export class Meter {
  readonly #socket: Socket;
  /** Bytes that had come when the answer before was over. */
  #from = 0;
  /** Bytes since then whose purpose is known. */
  #known = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  addHead(bytes: number): void {
    this.#known += bytes;
  }

  /** A piece of a body, as if it were a chunk: of one that has a length, that is a few bytes too much. */
  addBody(bytes: number): void {
    this.#known += bytes + bytes.toString(16).length + CHUNK_SEPARATORS;
  }

  endAnswer(): void {
    this.#known = 0;
    this.#from = this.#socket.bytesRead;
  }

  check(): void {
    if (this.#socket.bytesRead - this.#from - this.#known <= MOST_HEAD_BYTES) return;
    this.#socket.destroy(new AnswerError(`The answer's ${this.#known === 0 ? "headers are" : "chunks or trailers are"} too long.`));
  }
}

/** Connections with a meter each. `onRead` is told of the one whose bytes the parser is given, and of null afterwards. */
export function metered(connect: buildConnector.connector, onRead: (meter: Meter | null) => void): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      const meter = new Meter(socket);
      socket.on("readable", () => onRead(meter));
      // The parser listens from here on: what it reads, it reads between the two.
      callback(null, socket);
      socket.on("readable", () => {
        meter.check();
        onRead(null);
      });
    });
  };
}
