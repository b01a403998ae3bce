/** A request that did not succeed: the service's error envelope, or `UNREACHABLE` if there was no response. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** The id is also in the service's log. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    facts: Pick<ApiError, "status" | "code"> & Partial<Pick<ApiError, "details" | "requestId" | "retryAfterSeconds">>,
  ) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.details = facts.details ?? {};
    this.requestId = facts.requestId ?? null;
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }
}

/** Whether the same request may succeed later. */
export const mayRecover = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
