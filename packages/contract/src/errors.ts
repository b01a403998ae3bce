/** The API's error catalogue: every `error.code` with its HTTP status and default message. Source: specification, Errors. */
export const ERRORS = {
  VALIDATION_ERROR: { status: 400, message: "The request is malformed." },
  UNAUTHORIZED: { status: 401, message: "A valid workspace key is required: Authorization: Bearer svc_ws_…" },
  QUOTA_EXCEEDED: { status: 402, message: "The month's executions are used up." },
  PLAN_REQUIRED: { status: 403, message: "The workspace's plan does not have this feature." },
  FORBIDDEN: { status: 403, message: "The key's role does not allow this." },
  // Every such error names what was looked for, in its message and its details (`NotFoundDetails`).
  NOT_FOUND: { status: 404, message: "There is no such resource." },
  METHOD_NOT_ALLOWED: { status: 405, message: "The resource does not support this method." },
  CONFLICT: { status: 409, message: "The name is already in use." },
  INVALID_STATE: { status: 409, message: "The state of the resource does not allow this." },
  LEASE_LOST: { status: 409, message: "The worker no longer holds this job or run: its lease ended, or it was cancelled or settled." },
  PAYLOAD_TOO_LARGE: { status: 413, message: "The request exceeds a size limit." },
  IDEMPOTENCY_MISMATCH: { status: 422, message: "This idempotency key was already used with a different request." },
  RATE_LIMITED: { status: 429, message: "Too many requests." },
  INTERNAL: { status: 500, message: "Something failed on our side." },
  UNAVAILABLE: { status: 503, message: "The service cannot take the request now. Try again later." },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;
