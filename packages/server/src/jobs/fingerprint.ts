import { createHash } from "node:crypto";
import { canonicalJson, type SlicedWork } from "#kernel";
import type { NewJob } from "./new-job.ts";

/**
 * SHA-256 of a job as it was sent, in hexadecimal, without its idempotency key. White space between the payload's tokens and the order
 * of object members make no difference. Everything else does, also how a number is written.
 */
export function* fingerprintOf(job: Omit<NewJob, "idempotency">): SlicedWork<string> {
  const { delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs } = job;
  const options = JSON.stringify([delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs]);
  const digest = createHash("sha256").update(options);
  for (const chunk of yield* canonicalJson(job.payload)) {
    digest.update(chunk);
    yield;
  }
  return digest.digest("hex");
}
