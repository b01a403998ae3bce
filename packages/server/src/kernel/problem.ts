import { ERRORS, type ErrorCode } from "@tidemill/contract";

/** An error that a caller is told about, from the one catalogue (`ERRORS`); matched by its code. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;
  /** Headers that the reply carries besides its body, `Retry-After` say. */
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown>, headers: Record<string, string>) {
    super(message);
    this.code = code;
    this.details = details;
    this.headers = headers;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** Makes a `ProblemError`: `throw problem("QUOTA_EXCEEDED", { used, limit, plan })`. `notFound` makes those of NOT_FOUND. */
export function problem(
  code: Exclude<ErrorCode, "NOT_FOUND">,
  details: Record<string, unknown> = {},
  { message = ERRORS[code].message, headers = {} }: { message?: string; headers?: Record<string, string> } = {},
): ProblemError {
  return new ProblemError(code, message, details, headers);
}

/** Seconds that a caller is asked to wait when the service is away or shedding load. */
const RETRY_AFTER_SECONDS = 1;

export const unavailable = (message?: string): ProblemError =>
  problem("UNAVAILABLE", {}, { ...(message && { message }), headers: { "Retry-After": String(RETRY_AFTER_SECONDS) } });

/** Whether the database could not be asked, which says nothing of what it was asked for. */
export const isAway = (error: unknown): boolean => (error as Partial<ProblemError>).code === "UNAVAILABLE";

/** One malformed field as `VALIDATION_ERROR` lists it. */
export const invalid = (path: string, message: string): ProblemError => problem("VALIDATION_ERROR", { issues: [{ path, message }] });
