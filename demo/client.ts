import { setTimeout as wait } from "node:timers/promises";

/** An answer of the API that is no success, or none at all, in words. */
class ApiError extends Error {
  override readonly name = "ApiError";
}

const MOST_TRIES = 20;

/** Calls the API with a workspace key. What is asked to wait (429, 503) waits and tries again. */
export class Client {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url.replace(/\/+$/, "");
    this.#key = key;
  }

  async call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#send(method, path, body);
      const text = await response.text();
      if (response.ok) return (text === "" ? null : JSON.parse(text)) as Answer;
      const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
      if (Number.isNaN(retryAfter) || tries === MOST_TRIES) throw new ApiError(`${method} ${path} answered ${response.status}: ${text}`);
      await wait(Math.max(retryAfter, 0.1) * 1000);
    }
  }

  async #send(method: string, path: string, body: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, ...(body !== undefined && { "content-type": "application/json" }) };
    try {
      return await fetch(this.#url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      throw new ApiError(`${this.#url} does not answer: ${cause instanceof Error ? cause.message : String(error)}`, { cause: error });
    }
  }
}
