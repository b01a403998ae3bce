import { TidemillError } from "@tidemill/sdk";
import { expect, test, vi } from "vitest";
import { CallRetries, type RetryOptions } from "../src/worker/call-retries.ts";
import { KeyState } from "../src/worker/key-state.ts";
import type { WorkerSettings } from "../src/worker/options.ts";

const MAX_PAUSE_MS = 60_000;

const errorWith = (code: string, status: number | null) =>
  new TidemillError({ code: code as "UNAUTHORIZED", status, message: `${code} ${status}` });
const UNAVAILABLE = errorWith("UNAVAILABLE", 503);
const KEY_REFUSED = errorWith("UNAUTHORIZED", 401);
const FOREIGN = errorWith("UNEXPECTED_RESPONSE", 404);
const REFUSED = errorWith("VALIDATION_ERROR", 400);

function open(isFinal: RetryOptions["isFinal"]) {
  const clock = { nowMs: 0 };
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const settings = { name: "w", url: "http://localhost", logger, elapsedMs: () => clock.nowMs } as unknown as WorkerSettings;
  const key = new KeyState("A worker ends.");
  const call = () => new CallRetries(settings, key, { isFinal, maxPauseMs: MAX_PAUSE_MS });
  return { clock, logger, key, call };
}

test.each([
  { error: UNAVAILABLE, failure: null },
  { error: errorWith("RATE_LIMITED", 429), failure: null },
  { error: errorWith("NO_RESPONSE", null), failure: null },
  { error: KEY_REFUSED, failure: "keyRefused" },
  { error: FOREIGN, failure: "foreign" },
  { error: errorWith("UNEXPECTED_RESPONSE", 413), failure: "refused" },
  { error: errorWith("FORBIDDEN", 403), failure: "refused" },
  { error: REFUSED, failure: "refused" },
])("$error.message: the call is asked whether $failure ends it", ({ error, failure }) => {
  const asked: unknown[] = [];
  const { call } = open((_, one) => {
    asked.push(one);
    return false;
  });
  const pauseMs = call().pauseAfter(error, 1);
  expect(asked).toEqual(failure === null ? [] : [failure]);
  expect(pauseMs === 5_000).toBe(failure === "refused");
});

test("a refusal that is final ends the call", () => {
  const { call, logger } = open(() => true);
  expect(() => call().pauseAfter(REFUSED, 1)).toThrow(REFUSED);
  expect(logger.warn).not.toHaveBeenCalled();
});

test("something else may respond for a minute, counted again after any other failure", () => {
  const { call, clock, logger } = open(() => true);
  const retries = call();
  const failAt = (ms: number, error: TidemillError) => {
    clock.nowMs = ms;
    retries.pauseAfter(error, 2);
  };
  failAt(0, FOREIGN);
  failAt(59_999, FOREIGN);
  expect(logger.error).toHaveBeenCalledOnce();
  failAt(60_000, UNAVAILABLE);
  failAt(70_000, FOREIGN);
  expect(() => failAt(130_000, FOREIGN)).toThrow(FOREIGN);
  expect(logger.error).toHaveBeenCalledTimes(2);
});

test("a refused key is logged once for all calls, and has been refused for long after a minute without another response", () => {
  const { call, clock, logger, key } = open(() => false);
  call().pauseAfter(KEY_REFUSED, 1);
  call().pauseAfter(KEY_REFUSED, 1);
  expect(logger.error).toHaveBeenCalledOnce();
  expect([59_999, 60_000].map((ms) => key.isRefusedForLong(ms))).toEqual([false, true]);
  clock.nowMs = 60_000;
  call().pauseAfter(UNAVAILABLE, 2);
  expect(key.isRefusedForLong(120_000)).toBe(false);
});
