import { afterEach, expect, test, vi } from "vitest";
import { systemRandom } from "#kernel";
import { FormCache } from "#redaction";
import { createVault } from "../../src/vault/vault.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("unused forms of values are forgotten every five minutes, until the node stops", async () => {
  vi.useFakeTimers();
  const forget = vi.spyOn(FormCache.prototype, "forgetUnused");
  const { services: [loop] = [] } = createVault({ random: systemRandom, emit: () => {}, shares: {} } as never);
  await loop?.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(forget).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(forget).toHaveBeenCalledTimes(2);
  await loop?.stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(forget).toHaveBeenCalledTimes(2);
});
