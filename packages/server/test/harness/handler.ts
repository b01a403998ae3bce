import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A callback as it arrived. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: string;
  readonly body: { id: string; queue: string; attempt: number; attempts: number; tag: string | null; payload: unknown };
  readonly at: number;
}

/** A status, a full response, `"hang"` (the request stays open) or `"reset"` (the connection is reset). */
export type Answer = number | { status: number; headers?: Record<string, string>; body?: string } | "hang" | "reset";
export type Answers = Answer | readonly Answer[] | ((received: Received) => Answer | Promise<Answer>);

/**
 * A handler as users write it: a real HTTP server. It records the callbacks that it receives. With a list of answers, each callback gets
 * the next one. The last one is repeated.
 */
export class Handler {
  answers: Answers;
  readonly received: Received[] = [];
  readonly #server;
  readonly #open = new Map<ServerResponse, Received>();
  #aborted = 0;
  /** The maximum of requests that were open at once: in total (null), and by payload. */
  readonly #most = new Map<string | null, number>();

  private constructor(answers: Answers) {
    this.answers = answers;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  static async listen(answers: Answers, port = 0): Promise<Handler> {
    const handler = new Handler(answers);
    await new Promise<void>((resolve) => handler.#server.listen(port, "127.0.0.1", resolve));
    return handler;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`;
  }

  /** The attempt numbers of the received callbacks, in order. */
  get attempts(): number[] {
    return this.received.map(({ headers }) => Number(headers["x-service-attempt"]));
  }

  get payloads(): unknown[] {
    return this.received.map(({ body }) => body.payload);
  }

  /** The number of open requests: they have no response yet. */
  get open(): number {
    return this.#open.size;
  }

  /** The payloads of the open requests, in order of arrival. */
  get openPayloads(): unknown[] {
    return [...this.#open.values()].map(({ body }) => body.payload);
  }

  /** The maximum of requests that were open at once. With a payload, only requests with this payload count. */
  maxOpen(payload?: string): number {
    return this.#most.get(payload ?? null) ?? 0;
  }

  /** The number of requests that the service aborted. */
  get aborted(): number {
    return this.#aborted;
  }

  /** Responds to hanging requests, oldest first: to all of them, or to at most `limit`. */
  release(status = 200, limit = Number.POSITIVE_INFINITY): void {
    for (const response of [...this.#open.keys()].slice(0, limit)) {
      this.#open.delete(response);
      response.writeHead(status).end();
    }
  }

  /** Resets the connection of every hanging request. */
  reset(): void {
    for (const response of [...this.#open.keys()]) {
      this.#open.delete(response);
      response.socket?.resetAndDestroy();
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString("utf8");
    const received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      raw,
      body: bodyIn(raw),
      at: performance.now(),
    };
    this.received.push(received);
    const answer = await this.#next(received);
    if (answer === "reset") {
      request.socket.resetAndDestroy();
    } else if (answer === "hang") {
      this.#hold(response, received);
    } else {
      const { status, headers = {}, body = "" } = typeof answer === "number" ? { status: answer } : answer;
      response.writeHead(status, headers).end(body);
    }
  }

  #hold(response: ServerResponse, received: Received): void {
    const { payload } = received.body;
    // The service may have closed the connection while the request was read.
    if (response.closed || response.socket === null || response.socket.destroyed) {
      this.#aborted += 1;
      return;
    }
    this.#open.set(response, received);
    const alike = this.openPayloads.filter((one) => one === payload).length;
    this.#most.set(null, Math.max(this.maxOpen(), this.open));
    if (typeof payload === "string") this.#most.set(payload, Math.max(this.maxOpen(payload), alike));
    response.on("close", () => {
      if (this.#open.delete(response)) this.#aborted += 1;
    });
  }

  async #next(received: Received): Promise<Answer> {
    const { answers } = this;
    if (typeof answers === "function") return answers(received);
    if (!Array.isArray(answers)) return answers as Answer;
    return (answers[Math.min(this.received.length, answers.length) - 1] as Answer) ?? 200;
  }
}

/** Calls of workflows may have other bodies than callbacks, or none. */
function bodyIn(raw: string): Received["body"] {
  try {
    return JSON.parse(raw);
  } catch {
    return {} as Received["body"];
  }
}

/**
 * Whether a callback is signed as the specification says: `v1,` and the base64 of HMAC-SHA256 over `<job_id>.<timestamp>.<raw_body>`,
 * with the callback secret as key. It is written from the specification and shares no code with the server.
 */
export function isSigned({ headers, raw }: Received, secret: string): boolean {
  const id = headers["x-service-job-id"];
  const timestamp = headers["x-service-timestamp"];
  const expected = createHmac("sha256", secret)
    .update(`${String(id)}.${String(timestamp)}.${raw}`)
    .digest("base64");
  return headers["x-service-signature"] === `v1,${expected}`;
}
