import { durationsAsNumbers, type EnqueueOptions } from "../delays.ts";
import { encodeJson, invalidField } from "../encode-json.ts";

/** A job as it is sent. */
export interface EncodedJob {
  /** JSON. */
  readonly text: string;
  /** Whether the caller gave it an idempotency key. */
  readonly hasKey: boolean;
}

/**
 * @param within the path of the job in the request; empty for a job of its own
 * @throws {TidemillError} VALIDATION_ERROR naming what is neither a JSON value nor a duration
 */
export function encodeJob(payload: unknown, options: EnqueueOptions, within = ""): EncodedJob {
  const text = payloadText(payload, within === "" ? "payload" : `${within}.payload`);
  const rest = encodeJson(durationsAsNumbers(options, within), within) ?? "{}";
  const hasKey = options.idempotencyKey !== undefined;
  return { text: rest === "{}" ? `{"payload":${text}}` : `{"payload":${text},${rest.slice(1)}`, hasKey };
}

/** Adds a key to a job that has none. */
export const withKey = ({ text, hasKey }: EncodedJob, key: string): string =>
  hasKey ? text : `${text.slice(0, -1)},"idempotencyKey":"${key}"}`;

function payloadText(payload: unknown, path: string): string {
  const text = encodeJson(payload, path);
  if (text !== undefined) return text;
  throw invalidField(path, payload === undefined ? "is required" : "must be a JSON value");
}
