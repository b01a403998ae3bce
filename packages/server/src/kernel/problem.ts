import { ERRORS, type ErrorCode } from "@tidemill/contract";

/** An error that is reported to the caller, from the one catalogue (`ERRORS`). Match it by its code. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;
  /** Additional headers of the response, for example `Retry-After`. */
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

/** Creates a `ProblemError`: `throw problem("QUOTA_EXCEEDED", { used, limit, plan })`. For NOT_FOUND, use `notFound`. */
export function problem(
  code: Exclude<ErrorCode, "NOT_FOUND">,
  details: Record<string, unknown> = {},
  { message = ERRORS[code].message, headers = {} }: { message?: string; headers?: Record<string, string> } = {},
): ProblemError {
  return new ProblemError(code, message, details, headers);
}

/** How long callers should wait when the service is unavailable or overloaded. Seconds. */
const RETRY_AFTER_SECONDS = 1;

export const unavailable = (message?: string): ProblemError =>
  problem("UNAVAILABLE", {}, { ...(message && { message }), headers: { "Retry-After": String(RETRY_AFTER_SECONDS) } });

/** Whether the database could not be reached. Such a failure says nothing about the statement or its values. */
export const isAway = (error: unknown): boolean => (error as Partial<ProblemError>).code === "UNAVAILABLE";

/** Whether the database failed, or the connection to it, and not something else that is unavailable. */
export const isOfDatabase = (error: unknown): error is Error => error instanceof Error && isAway(error) && error.cause !== undefined;

/** Creates an INVALID_STATE for what is possible in some states only. */
export const invalidState = (state: string, allowedFrom: readonly string[]): ProblemError => {
  const message = `This is not possible in the state ${state}, only in ${allowedFrom.join(", ")}.`;
  return problem("INVALID_STATE", { state, allowed_from: allowedFrom }, { message });
};

/**
 * Creates a PAYLOAD_TOO_LARGE.
 *
 * @param path of what is too large; undefined: the whole body
 */
export const payloadTooLarge = (limitBytes: number, path?: string): ProblemError => {
  const message = `${path ?? "The request"} may have at most ${limitBytes.toLocaleString("en-US")} bytes.`;
  return problem("PAYLOAD_TOO_LARGE", { limit_bytes: limitBytes, ...(path !== undefined && { path }) }, { message });
};

/** An invalid part of a request. */
export interface Issue {
  /** Like "jobs[3].payload". Empty for the whole body. */
  readonly path: string;
  /** The rest of a sentence that begins with the path, or a sentence of its own. */
  readonly message: string;
}

/** Creates a VALIDATION_ERROR, whose message is about the first issue. */
export function malformed(issues: readonly Issue[]): ProblemError {
  const [first] = issues;
  return problem("VALIDATION_ERROR", { issues }, first && { message: sentenceOf(first) });
}

function sentenceOf({ path, message }: Issue): string {
  if (/^[A-Z]/.test(message)) return message;
  return `${path === "" ? "The request" : path} ${message}${/[.?]$/.test(message) ? "" : "."}`;
}

/** Creates a VALIDATION_ERROR with one invalid field. */
export const invalid = (path: string, message: string): ProblemError => malformed([{ path, message }]);
