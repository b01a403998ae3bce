import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A callback as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: string;
  readonly body: { id: string; queue: string; attempt: number; attempts: number; tag: string | null; payload: unknown };
  readonly at: number;
}

/** A status, a full answer, or none at all (`"hang"`: the request stays open). */
export type Answer = number | { status: number; headers?: Record<string, string>; body?: string } | "hang" | "reset";
export type Answers = Answer | readonly Answer[] | ((received: Received) => Answer | Promise<Answer>);

/**
 * A handler that users would write: a real HTTP server that keeps what it was sent. A list of answers is given one after the
 * other; the last one stays.
 */
export class Handler {
  answers: Answers;
  readonly received: Received[] = [];
  readonly #server;
  readonly #open = new Map<ServerResponse, Received>();
  #aborted = 0;
  /** The most requests that were open at once, in all and of each payload. */
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

  /** The attempt numbers that arrived, in order. */
  get attempts(): number[] {
    return this.received.map(({ headers }) => Number(headers["x-service-attempt"]));
  }

  get payloads(): unknown[] {
    return this.received.map(({ body }) => body.payload);
  }

  /** Requests that are open, answered by nothing yet. */
  get open(): number {
    return this.#open.size;
  }

  /** Payloads of the requests that are open, in the order in which they arrived. */
  get openPayloads(): unknown[] {
    return [...this.#open.values()].map(({ body }) => body.payload);
  }

  /** The most requests that were open at once; with a payload, of those that have it. */
  maxOpen(payload?: string): number {
    return this.#most.get(payload ?? null) ?? 0;
  }

  /** Requests that the service broke off. */
  get aborted(): number {
    return this.#aborted;
  }

  /** Lets hanging requests have their answer now: all, or so many, those that came first. */
  release(status = 200, most = Number.POSITIVE_INFINITY): void {
    for (const response of [...this.#open.keys()].slice(0, most)) {
      this.#open.delete(response);
      response.writeHead(status).end();
    }
  }

  /** Breaks off every hanging request. */
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
      path: request.url ?? "",
      headers: request.headers,
      raw,
      body: JSON.parse(raw) as Received["body"],
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

/**
 * Whether a callback is signed as the specification's words have it: `v1,` followed by base64 of HMAC-SHA256 over
 * `<job_id>.<timestamp>.<raw_body>`, keyed with the callback secret. Written from those words, not from our code.
 */
export function isSigned({ headers, raw }: Received, secret: string): boolean {
  const id = headers["x-service-job-id"];
  const timestamp = headers["x-service-timestamp"];
  const expected = createHmac("sha256", secret)
    .update(`${String(id)}.${String(timestamp)}.${raw}`)
    .digest("base64");
  return headers["x-service-signature"] === `v1,${expected}`;
}
