import { LIMITS } from "@tidemill/contract/limits";
import { checkLastArgument, checkNames } from "../check-names.ts";
import { givenText } from "../given-text.ts";
import { milliseconds } from "../options.ts";
import type { RunStepOptions, StepKey } from "./context.ts";
import { durationMs } from "./duration.ts";

/** The options of a step, checked. */
export interface StepSettings {
  /** Null: the step has no attempts of its own. */
  readonly attempts: number | null;
  readonly firstBackoffMs: number;
  readonly timeoutMs: number | null;
}

/** The options of a step. */
const OPTIONS = { key: true, attempts: true, backoff: true, timeout: true, undo: true } as const satisfies Record<
  keyof RunStepOptions,
  true
>;
const KEY = { key: true } as const satisfies Record<keyof StepKey, true>;
const FIRST_BACKOFF_MS = 1_000;
const JITTER = 0.2;

/**
 * Checks the options of a step that has none but its key.
 *
 * @param method for example `step.sleep`
 * @throws {TypeError} naming the option that it does not have
 */
export const checkKeyAlone = (method: string, options: StepKey): void => checkLastArgument(method, options, KEY);

/** @throws {TypeError} naming the option that is wrong */
export function stepSettings(options: RunStepOptions<never>): StepSettings {
  checkNames("step.run", options, OPTIONS);
  const { attempts, backoff, timeout } = options;
  if (attempts !== undefined && (!Number.isInteger(attempts) || attempts < 1))
    throw new TypeError(`attempts must be a whole number from 1 on, not ${givenText(attempts)}.`);
  if (backoff !== undefined) checkNames("backoff", backoff, { delay: true });
  return {
    attempts: attempts ?? null,
    firstBackoffMs: backoff === undefined ? FIRST_BACKOFF_MS : durationMs("backoff.delay", backoff.delay),
    timeoutMs: timeout === undefined ? null : milliseconds("timeout", durationMs("timeout", timeout), 1),
  };
}

/**
 * How long to wait after an attempt that failed.
 *
 * @param attempt from 1
 * @param chance from 0 to 1
 */
export const backoffMs = ({ firstBackoffMs }: StepSettings, attempt: number, chance: number): number =>
  Math.min(firstBackoffMs * 2 ** (attempt - 1) * (1 + JITTER * chance), LIMITS.backoffMs);
