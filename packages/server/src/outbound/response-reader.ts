import type { Dispatcher } from "undici";
import type { Headers, Request, Response } from "./request.ts";
import { InvalidResponseError, type ResponseLimiter } from "./response-limiter.ts";

/** A body that is too long to keep is still read up to this length, so that the connection can be reused. After that it is closed. */
const MAX_DRAINED_BYTES = 256 * 1024;
const FIRST_BODY_BYTES = 512;
const EMPTY = Buffer.alloc(0);

/** Reads the response to one request. */
export class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #maxBodyBytes: number;
  readonly #onLength: Request["onLength"];
  readonly #currentLimiter: () => ResponseLimiter | null;
  readonly #onDone: (response: Response) => void;
  /** Set when the request is written, which is after its connection is made, with TLS if it has TLS. */
  #controller: Dispatcher.DispatchController | undefined;
  #limiter: ResponseLimiter | null = null;
  #aborted: Error | undefined;
  #isStale: (() => boolean) | undefined;
  #sendAgain: (() => void) | undefined;
  /** Whether the request must be sent again: its connection may have been closed before the request was written. */
  #isPutBack = false;
  #status = 0;
  #headers: Headers = {};
  #body: Buffer = EMPTY;
  #bytes = 0;
  #done = false;

  /** @param currentLimiter returns the limiter of the connection whose bytes the parser is reading */
  constructor(
    { maxBodyBytes, onLength }: Pick<Request, "maxBodyBytes" | "onLength">,
    currentLimiter: () => ResponseLimiter | null,
    onDone: (response: Response) => void,
  ) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#onLength = onLength;
    this.#currentLimiter = currentLimiter;
    this.#onDone = onDone;
  }

  abort(reason: Error): void {
    if (this.#done) return;
    this.#aborted = reason;
    this.#controller?.abort(reason);
    this.#fail(reason);
  }

  /** @param isStale called before the request is written. If it returns true, nothing is written, and `sendAgain` is called */
  expect(isStale: () => boolean, sendAgain: () => void): void {
    this.#isStale = isStale;
    this.#sendAgain = sendAgain;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.#aborted && this.#isStale?.()) {
      this.#isPutBack = true;
      controller.abort(new Error("The connection may be closed already."));
      return;
    }
    this.#controller = controller;
    if (this.#aborted) controller.abort(this.#aborted);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#limiter = this.#currentLimiter();
    this.#limiter?.beginBody(bodyLengthOf(headers));
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const from = this.#bytes;
    this.#bytes += chunk.length;
    this.#limiter?.addBody(chunk.length);
    if (this.#bytes <= this.#maxBodyBytes) this.#keep(chunk, from);
    else if (this.#bytes > MAX_DRAINED_BYTES) {
      this.#respond();
      controller.abort(new Error("The response is too long."));
    }
  }

  onResponseEnd(): void {
    this.#limiter?.endResponse();
    this.#respond();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#isPutBack && !this.#done) {
      this.#isPutBack = false;
      this.#sendAgain?.();
    } else this.#fail(explained(error));
  }

  /** Copies the chunk: even a chunk of one byte would keep the 64 KiB buffer that it was read with in memory. */
  #keep(chunk: Buffer, from: number): void {
    if (this.#bytes > this.#body.length) {
      const length = Math.min(Math.max(FIRST_BODY_BYTES, 2 * this.#bytes), this.#maxBodyBytes);
      const refusal = this.#onLength?.(length);
      if (refusal) {
        this.abort(refusal);
        return;
      }
      const larger = Buffer.allocUnsafe(length);
      this.#body.copy(larger);
      this.#body = larger;
    }
    chunk.copy(this.#body, from);
  }

  /** A status of 300 or more counts as a response even if its body is cut off. A success counts only when it arrives complete. */
  #fail(error: Error): void {
    if (this.#status >= 300) this.#finish({ kind: "responded", status: this.#status, headers: this.#headers, body: null });
    else this.#finish({ kind: "failed", error, ...(!this.#controller && { unsent: true }) });
  }

  #respond(): void {
    const body = this.#bytes <= this.#maxBodyBytes ? this.#body.subarray(0, this.#bytes) : null;
    this.#finish({ kind: "responded", status: this.#status, headers: this.#headers, body });
  }

  #finish(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    // The caller's abort function keeps this object alive. These fields would also keep the connection and the parser's buffers alive.
    this.#controller = undefined;
    this.#isStale = undefined;
    this.#sendAgain = undefined;
    this.#limiter = null;
    this.#body = EMPTY;
    this.#onDone(response);
  }
}

/** The length of a body without chunks, if the head says it. */
function bodyLengthOf(headers: Headers): number | null {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  return typeof length === "string" && /^\d{1,15}$/.test(length) && coding === undefined ? Number(length) : null;
}

/** The HTTP client's own errors, worded for the owner of the handler. */
function explained(error: Error & { code?: string; reason?: string }): Error {
  if (error.code === "ERR_ASSERTION") return new InvalidResponseError("The response is not valid HTTP.", { cause: error });
  if (error.code === "UND_ERR_SOCKET")
    return new InvalidResponseError(`The connection ended before the response was complete: ${error.message}.`, { cause: error });
  if (error.code?.startsWith("ERR_SSL_")) return new InvalidResponseError(`TLS failed: ${error.reason ?? error.code}.`, { cause: error });
  return error;
}
