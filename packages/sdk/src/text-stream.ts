import { connectionError } from "./connection-error.ts";
import { TidemillError } from "./error.ts";
import { responseError } from "./response-error.ts";

export interface TextStreamOptions {
  /** Address of the service, for errors. */
  readonly url: string;
  readonly open: (signal: AbortSignal) => Promise<Response>;
  /** The content type that it must have. */
  readonly type: string;
  /** How long the response may take to begin. Milliseconds. */
  readonly opensInMs: number;
  /** The longest time without data. Milliseconds. */
  readonly idleMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The text of a response, as it arrives. The request is sent when iteration begins, and closed when iteration ends. */
export class TextStream implements AsyncIterable<string> {
  readonly #options: TextStreamOptions;
  /** Whether the response had no content, by its status: 204. */
  isEmpty = false;

  constructor(options: TextStreamOptions) {
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    const { open, opensInMs, idleMs, signal } = this.#options;
    const connection = new AbortController();
    const abort = () => connection.abort();
    const patience = new Patience(abort);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      patience.last(opensInMs);
      const response = await open(connection.signal);
      await this.#check(response);
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        patience.last(idleMs);
        const { done = true, value } = (await reader?.read()) ?? {};
        patience.end();
        if (done) return;
        yield decoder.decode(value, { stream: true });
      }
    } catch (error) {
      throw this.#errorOf(error, patience.isOver);
    } finally {
      patience.end();
      signal?.removeEventListener("abort", abort);
      abort();
    }
  }

  async #check(response: Response): Promise<void> {
    const { type } = this.#options;
    this.isEmpty = response.status === 204;
    if (this.isEmpty) return;
    if (!response.ok || !response.headers.get("content-type")?.startsWith(type)) throw responseError(response, await response.text());
  }

  #errorOf(error: unknown, isOverdue: boolean): unknown {
    const { signal, url } = this.#options;
    if (signal?.aborted) return signal.reason;
    if (error instanceof TidemillError) return error;
    return isOverdue
      ? new TidemillError({ code: "TIMEOUT", message: `Nothing more came from ${url}.`, cause: error })
      : connectionError(url, error);
  }
}

/** A timer that calls back unless it is extended or ended in time. */
class Patience {
  readonly #onOver: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  isOver = false;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  last(ms: number): void {
    this.end();
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#onOver();
    }, ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
