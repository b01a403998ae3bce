/** Header names of a callback request. Source: specification, Events, Callback delivery. */
export const CALLBACK_HEADERS = {
  jobId: "X-Service-Job-Id",
  attempt: "X-Service-Attempt",
  timestamp: "X-Service-Timestamp",
  signature: "X-Service-Signature",
} as const;

/**
 * The headers of Standard Webhooks, with the same signature, so that any library for Standard Webhooks verifies callbacks. The secret is
 * in its raw format. Source: contract §4, Callback; https://www.standardwebhooks.com
 */
export const WEBHOOK_HEADERS = {
  id: "webhook-id",
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

/** With this header set to `true`, a handler's response other than 2xx fails the job for good, without further attempts. */
export const NO_RETRY_HEADER = "X-Service-No-Retry";

/** The version tag before the base64 digest in the signature header. */
export const SIGNATURE_VERSION = "v1,";

/** How much a callback's timestamp may differ from the receiver's clock. Seconds. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;
