import { type HttpCall, LIMITS } from "@tidemill/contract";
import { invalid, payloadTooLarge } from "#kernel";
import { checkHeadersField, readUrlField } from "#outbound";

/** A call that a step requests, after its checks. */
export interface CallToBegin {
  readonly method: string;
  /** The URL with its templates. */
  readonly url: string;
  readonly attempts: number;
  readonly backoffDelayMs: number;
  /** The request, as JSON text of a `StoredRequest`. */
  readonly request: string;
}

/** A request as its job has it, with its templates. */
export interface StoredRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has none. */
  readonly body?: unknown;
  readonly timeoutMs: number;
}

const DEFAULTS = { timeoutMs: 30_000, attempts: 3, backoffDelayMs: 1_000 };

/**
 * Checks a call beyond the shape of its fields.
 *
 * @param path of the call in the request, for errors
 * @throws VALIDATION_ERROR for an address or a template that is not allowed, or a body that the method does not allow; PAYLOAD_TOO_LARGE
 */
export function readCall(call: HttpCall, path: string): CallToBegin {
  const { url, headers = {}, body, method = body === undefined ? "GET" : "POST", timeout = DEFAULTS.timeoutMs } = call;
  if (body !== undefined && (method === "GET" || method === "HEAD"))
    throw invalid(`${path}.body`, `is not allowed with the method ${method}`);
  readUrlField(`${path}.url`, url);
  checkHeadersField(`${path}.headers`, headers);
  const stored: StoredRequest = { method, url, headers, ...(body !== undefined && { body }), timeoutMs: timeout };
  const request = JSON.stringify(stored);
  if (Buffer.byteLength(request) > LIMITS.payloadBytes) throw payloadTooLarge(LIMITS.payloadBytes, path);
  return {
    method,
    url,
    attempts: call.attempts ?? DEFAULTS.attempts,
    backoffDelayMs: call.backoff?.delay ?? DEFAULTS.backoffDelayMs,
    request,
  };
}
