import type { EnqueueJob, TriggerWorkflow } from "@tidemill/contract";
import { invalidField } from "./encode-json.ts";
import { type Duration, durationMs } from "./workflow/duration.ts";

/** A duration with its unit, such as "90s", "15m", "24h" or "7d". */
type DurationText = Extract<Duration, string>;

/** Options of a job, in addition to its payload. */
export type EnqueueOptions = Omit<EnqueueJob, "payload" | "delay" | "backoff"> & {
  /** How long the job waits before it is due: whole seconds, or a string such as "15m". At most 365 days. */
  delay?: number | DurationText;
  /** `delay` is the wait before the second attempt, which doubles with each attempt: milliseconds, or a string such as "2s". */
  backoff?: Omit<NonNullable<EnqueueJob["backoff"]>, "delay"> & { delay?: number | DurationText };
};

/** A run to start. */
export type TriggerOptions = Omit<TriggerWorkflow, "delay"> & {
  /** How long the run waits before it starts: whole seconds, or a string such as "15m". At most 365 days. */
  delay?: number | DurationText;
};

/**
 * A job's options, or a trigger, as the service takes them: durations with units as numbers, rounded up.
 *
 * @param path that of the job in the request; empty if it is all of it
 * @throws {TidemillError} VALIDATION_ERROR for a string that is not a duration
 */
export function durationsAsNumbers<Sent>(options: EnqueueOptions | TriggerOptions, path = ""): Sent {
  const { delay, backoff } = options as EnqueueOptions;
  if (typeof delay !== "string" && typeof backoff?.delay !== "string") return options as Sent;
  const sent = { ...options } as EnqueueOptions;
  if (typeof delay === "string") sent.delay = Math.ceil(parse(delay, path, "delay") / 1_000);
  if (typeof backoff?.delay === "string") sent.backoff = { ...backoff, delay: Math.ceil(parse(backoff.delay, path, "backoff.delay")) };
  return sent as Sent;
}

function parse(text: DurationText, path: string, field: string): number {
  try {
    return durationMs(field, text);
  } catch {
    throw invalidField(path === "" ? field : `${path}.${field}`, 'must be a number, or a string such as "90s", "24h" or "7d"');
  }
}
