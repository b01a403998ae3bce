import type { ErrorCode } from "@tidemill/contract";

/**
 * What went wrong: a code of the API's error catalogue, or one of the client's own codes. `NO_RESPONSE`: the service could not be reached,
 * or the connection broke. `TIMEOUT`: there was no response in time. `UNEXPECTED_RESPONSE`: something other than the service responded, for
 * example a proxy.
 */
export type TidemillErrorCode = ErrorCode | "NO_RESPONSE" | "TIMEOUT" | "UNEXPECTED_RESPONSE";

interface Facts {
  readonly code: TidemillErrorCode;
  readonly message: string;
  readonly status?: number | null;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly neverSent?: boolean;
  readonly cause?: unknown;
}

/** A call that did not succeed. Match it by `code`. */
export class TidemillError extends Error {
  override readonly name: string = "TidemillError";
  readonly code: TidemillErrorCode;
  /** HTTP status of the response; null when there was none. */
  readonly status: number | null;
  /** More about the error, depending on the code; `{}` when there is nothing more. */
  readonly details: Readonly<Record<string, unknown>>;
  /** The response's `X-Request-Id`, which is also in the service's log; null when there was no response. */
  readonly requestId: string | null;
  /** How long the response asked the client to wait. Milliseconds; null when it did not. */
  readonly retryAfterMs: number | null;
  /** Whether it is certain that the service never got the request. */
  readonly neverSent: boolean;

  constructor({ code, message, status, details, requestId, retryAfterMs, neverSent, cause }: Facts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status ?? null;
    this.details = details ?? {};
    this.requestId = requestId ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
    this.neverSent = neverSent ?? false;
  }
}
