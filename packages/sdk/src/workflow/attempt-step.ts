import { momentText } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { milliseconds } from "../options.ts";
import { chance } from "../random.ts";
import { retryOf } from "../worker/retry-of.ts";
import type { RunStepOptions } from "./context.ts";
import { type Duration, durationMs } from "./duration.ts";
import { StepTimeoutError } from "./errors.ts";
import { failureOf } from "./failure.ts";
import type { RunHost, StepFunction } from "./host.ts";
import type { ReportedStep } from "./protocol.ts";
import { remember } from "./remembered.ts";

/** A step to execute. */
export interface StepCall {
  readonly key: string;
  readonly fn: StepFunction;
  readonly options: RunStepOptions;
  readonly idempotencyKey: string;
}

export interface StepOutcome {
  readonly reported: ReportedStep;
  /** What the last attempt threw, if it failed. */
  readonly thrown?: unknown;
  /** Whether a failure counts even if it ends the execution. */
  readonly isFinal: boolean;
}

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 86_400_000;
const JITTER = 0.2;

/** Executes a step, with its attempts. Never rejects. Null: it was aborted, and has no outcome. */
export async function attemptStep(host: RunHost, call: StepCall, signal: AbortSignal): Promise<StepOutcome | null> {
  const { key, options } = call;
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const reported = { key, type: "run", attempt, startedAt: momentText(host.nowMs()) } as const;
    try {
      const output = remember(await runOnce(call, attempt, signal), `step "${key}"`);
      return { reported: { ...reported, status: "completed", output }, isFinal: true };
    } catch (thrown) {
      if (signal.aborted) return null;
      const { retry = true, retry_in: seconds = 0 } = retryOf(thrown);
      if (!retry || attempt >= attemptsOf(options)) {
        const isFinal = !retry || options.attempts !== undefined;
        return { reported: { ...reported, status: "failed", error: failureOf(thrown) }, thrown, isFinal };
      }
      await host.wait(Math.max(seconds * 1_000, backoffMs(options, attempt, chance())), signal).catch(() => {});
    }
  }
  return null;
}

const attemptsOf = ({ attempts }: RunStepOptions): number => attempts ?? 1;

async function runOnce({ key, fn, options, idempotencyKey }: StepCall, attempt: number, signal: AbortSignal): Promise<unknown> {
  if (options.timeout === undefined) return fn({ signal, attempt, idempotencyKey });
  const timeoutMs = milliseconds("timeout", durationMs(options.timeout), 1);
  const deadline = new Deadline(timeoutMs, signal, () => new StepTimeoutError(key, timeoutMs));
  try {
    return await Promise.race([fn({ signal: deadline.signal, attempt, idempotencyKey }), timedOut(deadline)]);
  } catch (error) {
    throw deadline.passed ? deadline.signal.reason : error;
  } finally {
    deadline.end();
  }
}

const timedOut = (deadline: Deadline): Promise<never> =>
  new Promise((_, reject) => {
    deadline.signal.addEventListener("abort", () => {
      if (deadline.passed) reject(deadline.signal.reason);
    });
  });

function backoffMs({ backoff }: RunStepOptions, attempt: number, chance: number): number {
  const delay: Duration = backoff?.delay ?? FIRST_BACKOFF_MS;
  return Math.min(durationMs(delay) * 2 ** (attempt - 1) * (1 + JITTER * chance), MAX_BACKOFF_MS);
}
