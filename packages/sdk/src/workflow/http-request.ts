import type { HttpMethod } from "@tidemill/contract";
import type { Duration } from "./duration.ts";

/** The type of a response's body. It exists only in types. */
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
  /** An http or https URL. The path and query of a string may contain templates: `${{ secrets.NAME }}`. */
  readonly url: string | URL;
  /** Default: POST with a body, otherwise GET. */
  readonly method?: HttpMethod;
  /** Headers. Their values may contain templates. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * A string is sent as it is, `URLSearchParams` as a form, any other value as JSON. Strings in it may contain templates, except in
   * `URLSearchParams`.
   */
  readonly body?: unknown;
  /** How long one attempt may take: up to 15 minutes, 30 seconds by default. */
  readonly timeout?: Duration;
  /** How often the call is tried, the first time included. 3 by default. */
  readonly attempts?: number;
  /** How long to wait before the second attempt; twice as long before each further one. 1 s by default. */
  readonly backoff?: { readonly delay: Duration };
  /** Gives the body of the response its type. */
  readonly of?: JsonOf<Body>;
}

/** The response to a call. */
export interface HttpResponse<Body = unknown> {
  /** The status, from 200 to 299. */
  readonly status: number;
  /** Headers, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed value of a JSON body, or the text of any other body. */
  readonly body: Body;
}
