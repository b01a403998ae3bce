import type { ReportedStep } from "@tidemill/contract";
import { momentText } from "../clock.ts";
import { retryOf } from "../worker/retry-of.ts";
import { StepTimeoutError } from "./errors.ts";
import { failureOf } from "./failure.ts";
import type { RunHost, StepFunction } from "./host.ts";
import { insideStep } from "./inside-step.ts";
import { remember } from "./remembered.ts";
import { backoffMs, type StepSettings } from "./step-settings.ts";

/** A step to execute. */
export interface StepCall {
  readonly key: string;
  readonly fn: StepFunction;
  readonly settings: StepSettings;
  readonly undoable: boolean;
  readonly idempotencyKey: string;
}

export interface StepOutcome {
  readonly reported: ReportedStep;
  /** What the last attempt threw, if it failed. */
  readonly thrown?: unknown;
  /** Whether a failure counts even if it ends the execution. */
  readonly isFinal: boolean;
}

/** Executes a step, with its attempts. Never rejects. Null: the step was aborted and has no outcome. */
export async function attemptStep(host: RunHost, call: StepCall, signal: AbortSignal): Promise<StepOutcome | null> {
  const { key, settings } = call;
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const reported = { key, type: "run", attempt, startedAt: momentText(host.nowMs()) } as const;
    try {
      const output = remember(await runOnce(host, call, attempt, signal), `step "${key}"`);
      return { reported: { ...reported, status: "completed", output, ...(call.undoable && { undoable: true }) }, isFinal: true };
    } catch (thrown) {
      if (signal.aborted) return null;
      const { retry = true, retry_in: seconds = 0 } = retryOf(thrown);
      if (!retry || attempt >= (settings.attempts ?? 1)) {
        const isFinal = !retry || settings.attempts !== null;
        return { reported: { ...reported, status: "failed", error: failureOf(thrown) }, thrown, isFinal };
      }
      await host
        .wait(Math.max(seconds * 1_000, backoffMs(settings, attempt, host.random(`${key} after attempt ${attempt}`))), signal)
        .catch(() => {});
    }
  }
  return null;
}

async function runOnce(
  host: RunHost,
  { key, fn, settings, idempotencyKey }: StepCall,
  attempt: number,
  signal: AbortSignal,
): Promise<unknown> {
  const { timeoutMs } = settings;
  const begin = (until: AbortSignal) => insideStep(host, key, () => fn({ signal: until, attempt, idempotencyKey }));
  if (timeoutMs === null) return begin(signal);
  const deadline = host.deadline(timeoutMs, signal, () => new StepTimeoutError(key, timeoutMs));
  // This also ends an attempt that goes on after its signal is aborted. It listens before the function does, which may return immediately then.
  const late = new Promise<never>((_, reject) => deadline.onPass(reject));
  try {
    return await Promise.race([late, begin(deadline.signal)]);
  } catch (error) {
    throw deadline.passed ? deadline.signal.reason : error;
  } finally {
    deadline.end();
  }
}
