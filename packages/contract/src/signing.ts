/** Header names of a callback request. Source: specification, Events, Callback delivery. */
export const CALLBACK_HEADERS = {
  jobId: "X-Service-Job-Id",
  attempt: "X-Service-Attempt",
  timestamp: "X-Service-Timestamp",
  signature: "X-Service-Signature",
} as const;

/**
 * The same signature under the names of Standard Webhooks, so that any library of theirs verifies it; the secret is in their raw
 * format. Source: contract §4, Callback; https://www.standardwebhooks.com
 */
export const WEBHOOK_HEADERS = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

/** A handler's answer with this header set to `true` fails the job at once. */
export const NO_RETRY_HEADER = "X-Service-No-Retry";

/** The version tag that stands before the base64 digest in the signature header. */
export const SIGNATURE_VERSION = "v1,";

/** How far a callback's timestamp may lie from the receiver's clock. Seconds. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;
