import type { HttpMethod } from "@tidemill/contract";
import type { Duration } from "./duration.ts";

/** The type of a response's body, present in types alone. */
export interface JsonOf<Body> {
  readonly kind: "json";
  readonly types?: { readonly body: Body };
}

/**
 * Gives the body of a response its type. It is not checked.
 *
 * ```ts
 * const { body } = await step.http("load", { url: "https://api.example.com/users/1", of: json<{ name: string }>() });
 * ```
 */
export const json = <Body>(): JsonOf<Body> => ({ kind: "json" });

/** A call that the service makes. */
export interface HttpRequest<Body = unknown> {
  /** http or https. Its path and query may contain templates: `${{ secrets.NAME }}`. */
  readonly url: string;
  /** POST with a body, else GET, by default. */
  readonly method?: HttpMethod;
  /** Their values may contain templates. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, any other value as JSON. Texts in it may contain templates. */
  readonly body?: unknown;
  /** How long one attempt may take: up to 15 minutes, 30 seconds by default. */
  readonly timeout?: Duration;
  /** How often it is tried, the first time included. 3 by default. */
  readonly attempts?: number;
  /** How long to wait before the second attempt; twice as long before each further one. 1 s by default. */
  readonly backoff?: { readonly delay: Duration };
  /** Gives the body of the response its type. */
  readonly of?: JsonOf<Body>;
}

/** The response to a call. */
export interface HttpResponse<Body = unknown> {
  /** From 200 to 299. */
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The value of a JSON body, the text of any other. */
  readonly body: Body;
}
