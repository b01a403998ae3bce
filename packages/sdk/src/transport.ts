import { connectionError } from "./connection-error.ts";
import { Deadline } from "./deadline.ts";
import { TidemillError } from "./error.ts";
import type { ResponseHead, WholeResponse } from "./http/response-parser.ts";
import { nodeSender } from "./http/send-request.ts";
import { type ServerAddress, serverAddress } from "./http/server-address.ts";
import { type CallOptions, checkCall, milliseconds, type Settings } from "./options.ts";
import { chance } from "./random.ts";
import { responseError } from "./response-error.ts";
import { ANY_OBJECT, checkShape, type Shape } from "./response-shapes.ts";
import { maySendAgain, type Repeatable, waitBeforeNext } from "./retry.ts";
import { TextStream } from "./text-stream.ts";
import { type TraceHeaders, traceHeaders } from "./trace.ts";
import { wait } from "./wait.ts";

/** A request to the API. */
export interface ApiRequest extends Repeatable {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path from `/v1` on, with its query. */
  readonly path: string;
  /** Headers in addition to those of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  /** Default: the headers of the active context. */
  readonly trace?: TraceHeaders;
  /** The shape of the response. Default: any JSON object. */
  readonly shape?: Shape;
}

/** Sends requests, and sends them again where that is safe. */
export class Transport {
  readonly settings: Settings;
  readonly #server: ServerAddress;

  constructor(settings: Settings) {
    this.settings = settings;
    this.#server = serverAddress(settings.url);
  }

  /**
   * @returns the body of the response; undefined when it has none
   * @throws {TidemillError} or the reason of the call's signal
   */
  async request(request: ApiRequest, call: CallOptions = {}): Promise<unknown> {
    checkCall(call);
    const { signal, timeoutMs } = call;
    const { retryForMs } = this.settings;
    checkPath(request.path);
    const traced = { ...request, trace: request.trace ?? traceHeaders() };
    const timeout = timeoutMs === undefined ? this.settings.timeoutMs : milliseconds("timeoutMs", timeoutMs, 1);
    const startedMs = performance.now();
    for (let tries = 1; ; tries += 1) {
      signal?.throwIfAborted();
      try {
        return await this.#send(traced, timeout, signal);
      } catch (error) {
        if (!(error instanceof TidemillError) || !maySendAgain(error, request)) throw error;
        const waitMs = waitBeforeNext(error, tries, chance());
        if (performance.now() - startedMs + waitMs > retryForMs) throw error;
        await wait(waitMs, signal);
      }
    }
  }

  /**
   * Opens a stream of events. It is not retried: the stream throws when the connection breaks.
   *
   * @throws {TidemillError} or the reason of the call's signal
   */
  openStream(request: ApiRequest, { signal, timeoutMs, idleMs }: CallOptions & { readonly idleMs: number }): TextStream {
    checkPath(request.path);
    const { url, timeoutMs: usual } = this.settings;
    const opensInMs = timeoutMs === undefined ? usual : milliseconds("timeoutMs", timeoutMs, 1);
    const open = (aborted: AbortSignal) => this.#fetch({ ...request, trace: traceHeaders() }, aborted);
    return new TextStream({ url, open, type: "text/event-stream", opensInMs, idleMs, signal });
  }

  #fetch(request: ApiRequest, signal: AbortSignal): Promise<Response> {
    const { url, fetch } = this.settings;
    const { method, path, body } = request;
    // A redirected POST would become a GET.
    const init: RequestInit = {
      method,
      headers: this.#headersOf(request),
      redirect: "manual",
      signal,
      ...(body !== undefined && { body }),
    };
    return (fetch ?? globalThis.fetch)(url + path, init);
  }

  async #sendWhole(request: ApiRequest, deadline: Deadline): Promise<WholeResponse> {
    const { method, path, body } = request;
    const send = this.settings.fetch ? null : nodeSender();
    if (send) return send({ method, server: this.#server, path, headers: this.#headersOf(request), body, deadline });
    const response = await this.#fetch(request, deadline.signal);
    const { status, ok, headers } = response;
    return { status, ok, headers, body: await response.text() };
  }

  #headersOf({ headers, body, trace }: ApiRequest): Record<string, string> {
    return {
      authorization: `Bearer ${this.settings.key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
      ...trace,
    };
  }

  async #send(request: ApiRequest, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    const { url, parseJson } = this.settings;
    const deadline = new Deadline(timeoutMs, signal);
    try {
      const response = await this.#sendWhole(request, deadline);
      const { status, ok, body } = response;
      if (!ok) throw responseError(response, body);
      const value = body === "" ? undefined : parse(response, body, parseJson);
      checkShape(value, request.shape ?? ANY_OBJECT, status);
      return value;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof TidemillError) throw error;
      if (deadline.passed)
        throw new TidemillError({ code: "TIMEOUT", message: `No response from ${url} in ${Math.round(timeoutMs)} ms.`, cause: error });
      throw connectionError(url, error);
    } finally {
      deadline.end();
    }
  }
}

/** An empty name, `.` and `..` would lead to a different path than intended. */
function checkPath(path: string): void {
  if (!/\/\.{0,2}(?=[/?]|$)/.test(path)) return;
  throw new TidemillError({ code: "VALIDATION_ERROR", message: 'A name or id must be a string other than "", "." and "..".' });
}

function parse(response: ResponseHead, text: string, parseJson: (text: string) => unknown): unknown {
  try {
    return parseJson(text);
  } catch {
    throw responseError(response, text);
  }
}
