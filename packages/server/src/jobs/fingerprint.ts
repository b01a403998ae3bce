import { createHash } from "node:crypto";
import { canonicalJson, type SlicedWork } from "#kernel";
import type { NewJob } from "./new-job.ts";

type Sent = Omit<NewJob, "idempotency" | "trace">;

/**
 * SHA-256 of a job as it was sent, in hexadecimal, without its idempotency key and its trace. White space between the payload's tokens and
 * the order of object members make no difference. Everything else does, even how a number is written.
 */
export function* fingerprintOf(job: Sent): SlicedWork<string> {
  const digest = createHash("sha256").update(optionsOf(job));
  yield* canonicalJson(job.payload, (bytes) => digest.update(bytes));
  return digest.digest("hex");
}

/** SHA-256 of a batch, in hexadecimal. Payloads are taken as they were sent: to put each in order would cost more than to store it. */
export function* fingerprintOfBatch(jobs: readonly Sent[]): SlicedWork<string> {
  const digest = createHash("sha256");
  for (const job of jobs) {
    digest.update(`${optionsOf(job)}${job.payload.length}:${job.payload}`);
    yield;
  }
  return digest.digest("hex");
}

const optionsOf = ({ delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs }: Sent): string =>
  JSON.stringify([delaySeconds, runAtMs, tag, priority, concurrencyKey, attempts, backoffDelayMs]);
