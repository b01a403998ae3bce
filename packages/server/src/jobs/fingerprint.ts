import { hash } from "node:crypto";
import { canonicalJson } from "#kernel";
import type { NewJob } from "./new-job.ts";

/**
 * SHA-256 of a job as it was sent, in hexadecimal: all that a caller says of it but its idempotency key. White space between the
 * payload's tokens and the order of its objects' members do not count; anything else does, a number's digits among it.
 */
export function fingerprintOf(job: Omit<NewJob, "idempotency">): string {
  const { delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs } = job;
  const options = JSON.stringify([delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs]);
  return hash("sha256", options + canonicalJson(job.payload));
}
