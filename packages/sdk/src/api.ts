import { encodeJson } from "./encode-json.ts";
import type { CallOptions } from "./options.ts";
import { List, type Page } from "./page.ts";
import { ANY_OBJECT, ENTITY_OR_NOTHING, NOTHING, type Shape } from "./response-shapes.ts";
import type { Transport } from "./transport.ts";

type Query = Readonly<Record<string, string | number | undefined>>;

/** A path with those parameters that are given. */
export const withQuery = (path: string, query: Query): string => {
  const given = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

/** A path made of names and ids, each encoded. Anything but a string becomes empty, and such a path is refused before it is sent. */
export const pathOf = (...parts: string[]): string =>
  `/v1/${parts.map((part) => (typeof part === "string" ? encodeURIComponent(part) : "")).join("/")}`;

/**
 * The verbs of the API, for the resources. The contract says which type the response of a path has.
 */
export class Api {
  readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  get<Response>(path: string, call: CallOptions | undefined, query: Query = {}): Promise<Response> {
    return this.transport.request({ method: "GET", path: withQuery(path, query), repeatable: true }, call) as Promise<Response>;
  }

  list<Item, Filter extends object>(path: string, filter: Filter, call: CallOptions | undefined): List<Item, Filter> {
    return new List((query) => this.get<Page<Item>>(path, call, query as Query), filter);
  }

  post<Response>(path: string, body: unknown, call: CallOptions | undefined, shape?: Shape): Promise<Response> {
    return this.#change("POST", path, body, call, shape);
  }

  /** Like `post`, for requests that may be repeated without a further effect. */
  postRepeatably<Response>(path: string, body: object, call: CallOptions | undefined, shape?: Shape): Promise<Response> {
    return this.#change("POST", path, body, call, shape, true);
  }

  put<Response>(path: string, body: object, call: CallOptions | undefined, shape?: Shape): Promise<Response> {
    return this.#change("PUT", path, body, call, shape, true);
  }

  patch<Response>(path: string, body: object | undefined, call: CallOptions | undefined): Promise<Response> {
    return this.#change("PATCH", path, body, call);
  }

  delete(path: string, call: CallOptions | undefined): Promise<void> {
    return this.#change("DELETE", path, undefined, call, NOTHING);
  }

  /** Like `delete`, for resources that the service may return instead of deleting them. Undefined: deleted. */
  deleteOrReturn<Response>(path: string, call: CallOptions | undefined): Promise<Response | undefined> {
    return this.#change("DELETE", path, undefined, call, ENTITY_OR_NOTHING);
  }

  /** Like `patch`, for requests that may be repeated without a further effect. */
  patchRepeatably<Response>(path: string, call: CallOptions | undefined): Promise<Response> {
    return this.#change("PATCH", path, undefined, call, ANY_OBJECT, true);
  }

  async #change<Response>(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body: unknown,
    call: CallOptions | undefined,
    shape: Shape = ANY_OBJECT,
    repeatable = false,
  ): Promise<Response> {
    const text = encodeJson(body);
    const content = text === undefined ? {} : { body: text };
    return (await this.transport.request({ method, path, repeatable, shape, ...content }, call)) as Response;
  }
}
