import { expect, test, vi } from "vitest";
import { wait } from "../src/wait.ts";

const MONTH_MS = 30 * 24 * 60 * 60 * 1_000;

test("a wait may be longer than a timer", async ({ onTestFinished }) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const ended = vi.fn();
  void wait(MONTH_MS, undefined).then(ended);
  await vi.advanceTimersByTimeAsync(MONTH_MS - 1);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toHaveBeenCalled();
});

test("one that is aborted in its last part rejects", async ({ onTestFinished }) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const controller = new AbortController();
  const waited = wait(MONTH_MS, controller.signal);
  const refused = expect(waited).rejects.toThrow("Enough.");
  await vi.advanceTimersByTimeAsync(MONTH_MS - 1);
  controller.abort(new Error("Enough."));
  await refused;
});
