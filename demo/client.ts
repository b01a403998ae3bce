import { setTimeout as wait } from "node:timers/promises";

/** An API response that is not a success, or a request without a response. */
class ApiError extends Error {
  override readonly name = "ApiError";
}

const MAX_TRIES = 20;

/** Calls the API with a workspace key. A response with Retry-After (429, 503) is tried again after that time. */
export class Client {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url.replace(/\/+$/, "");
    this.#key = key;
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#send(method, path, body);
      const text = await response.text();
      if (response.ok) return (text === "" ? null : JSON.parse(text)) as Body;
      const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
      if (Number.isNaN(retryAfter) || tries === MAX_TRIES) throw new ApiError(`${method} ${path} returned ${response.status}: ${text}`);
      await wait(Math.max(retryAfter, 0.1) * 1000);
    }
  }

  async #send(method: string, path: string, body: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}`, ...(body !== undefined && { "content-type": "application/json" }) };
    try {
      return await fetch(this.#url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      throw new ApiError(`No response from ${this.#url}: ${cause instanceof Error ? cause.message : String(error)}`, { cause: error });
    }
  }
}
