import { constants, PerformanceObserver } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { countBuffersWithHeap } from "#kernel";

const ROUNDS = 20;
const MIB = 1024 * 1024;

test("large bodies that come and go do not make V8 collect all of its heap each time", async () => {
  countBuffersWithHeap();
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    const kinds = list.getEntries().map((entry) => (entry as unknown as { detail: { kind: number } }).detail.kind);
    collections += kinds.filter((kind) => kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
  });
  observer.observe({ entryTypes: ["gc"] });
  for (let round = 0; round < ROUNDS; round += 1) {
    const bodies = Array.from({ length: 8 }, () => Buffer.allocUnsafeSlow(16 * MIB));
    await wait(5);
    for (const { buffer } of bodies) buffer.transfer(0);
    // A collection that has begun ends in a later turn.
    await wait(5);
  }
  observer.disconnect();
  expect(collections).toBeLessThan(ROUNDS / 2);
});
