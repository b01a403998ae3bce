import { Agent, type Dispatcher } from "undici";
import type { AddressGuard } from "./address-guard.ts";

/** What came back of one request. */
export type Response =
  | { readonly kind: "answered"; readonly status: number; readonly headers: Headers; readonly body: Buffer | null }
  | { readonly kind: "failed"; readonly error: unknown };

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Request {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Most bytes of the answer's body that are kept; of a longer one nothing is. */
  readonly mostBodyBytes: number;
}

/** Ends a request whose answer is no longer wanted; it then answers `failed` with the reason given. */
export type Abort = (reason: Error) => void;

const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 10_000;
const MOST_HEADER_BYTES = 16 * 1024;
/** Of an answer longer than what is kept, this much is read to save the connection; then it is closed. */
const MOST_DRAINED_BYTES = 1024 * 1024;

/** Sends POST requests over kept-alive connections whose addresses the guard has checked. Redirects are not followed. */
export class Sender {
  readonly #agent: Agent;

  constructor(guard: AddressGuard) {
    this.#agent = new Agent({
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MOST_HEADER_BYTES,
      // The caller's clock ends slow requests as a whole.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { lookup: guard.lookup, timeout: CONNECT_TIMEOUT_MS },
    });
  }

  send(request: Request, onDone: (response: Response) => void): Abort {
    const exchange = new Exchange(request.mostBodyBytes, onDone);
    const { origin, path, headers, body } = request;
    try {
      this.#agent.dispatch({ origin, path, method: "POST", headers, body }, exchange);
    } catch (error) {
      exchange.onResponseError(null, error as Error);
    }
    return (reason) => exchange.abort(reason);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #mostBodyBytes: number;
  readonly #onDone: (response: Response) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #status = 0;
  #headers: Headers = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #done = false;

  constructor(mostBodyBytes: number, onDone: (response: Response) => void) {
    this.#mostBodyBytes = mostBodyBytes;
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
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#mostBodyBytes) this.#chunks.push(chunk);
    else if (this.#bytes > MOST_DRAINED_BYTES) {
      this.#answer();
      controller.abort(new Error("The answer is too long."));
    }
  }

  onResponseEnd(): void {
    this.#answer();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error);
  }

  /** A refusal whose status has come is an answer, whatever becomes of its body; a success must come whole. */
  #fail(error: Error): void {
    if (this.#status >= 300) this.#finish({ kind: "answered", status: this.#status, headers: this.#headers, body: null });
    else this.#finish({ kind: "failed", error });
  }

  #answer(): void {
    const whole = this.#bytes <= this.#mostBodyBytes;
    this.#finish({ kind: "answered", status: this.#status, headers: this.#headers, body: whole ? Buffer.concat(this.#chunks) : null });
  }

  #finish(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    this.#onDone(response);
  }
}
