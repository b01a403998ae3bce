import type { Dispatcher } from "undici";
import { AnswerError, type Meter } from "./meter.ts";
import type { Headers, Response } from "./request.ts";

/** Of an answer longer than what is kept, this much is read to save the connection; then it is closed. */
const MOST_DRAINED_BYTES = 256 * 1024;
const FIRST_BODY_BYTES = 512;
const NOTHING = Buffer.alloc(0);

/** One request and what comes back of it. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #mostBodyBytes: number;
  readonly #meterNow: () => Meter | null;
  readonly #onDone: (response: Response) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #meter: Meter | null = null;
  #aborted: Error | undefined;
  #status = 0;
  #headers: Headers = {};
  #body: Buffer = NOTHING;
  #bytes = 0;
  #done = false;

  /** @param meterNow the meter of the connection whose bytes are read */
  constructor(mostBodyBytes: number, meterNow: () => Meter | null, onDone: (response: Response) => void) {
    this.#mostBodyBytes = mostBodyBytes;
    this.#meterNow = meterNow;
    this.#onDone = onDone;
  }

  abort(reason: Error): void {
    if (this.#done) return;
    this.#aborted = reason;
    this.#controller?.abort(reason);
    this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted) controller.abort(this.#aborted);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.#meter = this.#meterNow();
    this.#meter?.beginBody();
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const from = this.#bytes;
    this.#bytes += chunk.length;
    this.#meter?.addBody(chunk.length);
    if (this.#bytes <= this.#mostBodyBytes) this.#keep(chunk, from);
    else if (this.#bytes > MOST_DRAINED_BYTES) {
      this.#answer();
      controller.abort(new Error("The answer is too long."));
    }
  }

  onResponseEnd(): void {
    this.#meter?.endAnswer();
    this.#answer();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(explained(error));
  }

  /** Copied: a chunk of one byte would hold the 64 KiB that it was read with. */
  #keep(chunk: Buffer, from: number): void {
    if (this.#bytes > this.#body.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(FIRST_BODY_BYTES, 2 * this.#bytes), this.#mostBodyBytes));
      this.#body.copy(larger);
      this.#body = larger;
    }
    chunk.copy(this.#body, from);
  }

  /** A refusal whose status has come is an answer, whatever becomes of its body; a success must come whole. */
  #fail(error: Error): void {
    if (this.#status >= 300) this.#finish({ kind: "answered", status: this.#status, headers: this.#headers, body: null });
    else this.#finish({ kind: "failed", error });
  }

  #answer(): void {
    const body = this.#bytes <= this.#mostBodyBytes ? this.#body.subarray(0, this.#bytes) : null;
    this.#finish({ kind: "answered", status: this.#status, headers: this.#headers, body });
  }

  #finish(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    // Whoever could still abort it holds it, and with these the connection and all that the parser has of it.
    this.#controller = undefined;
    this.#meter = null;
    this.#body = NOTHING;
    this.#onDone(response);
  }
}

/** What the client's own errors mean to the handler's owner. */
function explained(error: Error & { code?: string; reason?: string }): Error {
  if (error.code === "ERR_ASSERTION") return new AnswerError("The answer is no HTTP.", { cause: error });
  if (error.code === "UND_ERR_SOCKET")
    return new AnswerError(`The connection ended before the answer did: ${error.message}.`, { cause: error });
  if (error.code?.startsWith("ERR_SSL_")) return new AnswerError(`TLS failed: ${error.reason ?? error.code}.`, { cause: error });
  return error;
}
