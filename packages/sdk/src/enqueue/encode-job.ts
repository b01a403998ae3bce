import { TidemillError } from "../error.ts";
import type { EnqueueOptions } from "../job.ts";

/** A job as it is sent. */
export interface EncodedJob {
  /** JSON. */
  readonly text: string;
  /** Whether the caller gave it an idempotency key. */
  readonly hasKey: boolean;
}

/** @throws {TidemillError} VALIDATION_ERROR when the payload is not a JSON value */
export function encodeJob(payload: unknown, options: EnqueueOptions, path = "payload"): EncodedJob {
  const text = toJson(payload, path);
  const rest = JSON.stringify(options);
  const hasKey = options.idempotencyKey !== undefined;
  return { text: rest === "{}" ? `{"payload":${text}}` : `{"payload":${text},${rest.slice(1)}`, hasKey };
}

/** Adds a key to a job that has none. */
export const withKey = ({ text, hasKey }: EncodedJob, key: string): string =>
  hasKey ? text : `${text.slice(0, -1)},"idempotencyKey":"${key}"}`;

function toJson(payload: unknown, path: string): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined) return text;
  const message = payload === undefined ? "is required" : "must be a JSON value";
  throw new TidemillError({ code: "VALIDATION_ERROR", message: `${path} ${message}.`, details: { issues: [{ path, message }] }, cause });
}
