import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { KnownWorker } from "../../src/workers/known-worker.ts";
import { Poll } from "../../src/workers/poll.ts";
import { PollEnds } from "../../src/workers/poll-ends.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Polls that are ended, with a clock that a test sets. It begins at a moment of which nothing is a multiple. */
function setUp() {
  const time = { ms: 1_234.5 };
  const ended: Poll[] = [];
  const ends = new PollEnds({ elapsedMs: () => time.ms }, (poll) => void ended.push(poll));
  const add = (waitMs: number): Poll => {
    const asked = {
      worker: {} as KnownWorker,
      keyId: null,
      lanes: [],
      limit: 1,
      leaseSeconds: 30,
      request: null,
      signal: new AbortController().signal,
      hold: () => {},
    };
    const poll = new Poll({ ...asked, waitMs });
    ends.add(poll);
    return poll;
  };
  const pass = async (ms: number) => {
    time.ms += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  /** When the poll ends, if time passes in small steps. */
  const endOf = async (poll: Poll): Promise<number> => {
    while (!ended.includes(poll)) await pass(10);
    return time.ms;
  };
  return { ends, time, ended, add, pass, endOf };
}

describe("polls that wait", () => {
  test.for([1_000, 2_000, 7_000, 15_000, 30_000])(
    "end after two thirds of their wait or later, and about after all of it at the latest: %i ms",
    async (waitMs) => {
      const { time, add, pass, endOf } = setUp();
      for (let n = 0; n < 20; n += 1) {
        await pass(170);
        const fromMs = time.ms;
        const tookMs = (await endOf(add(waitMs))) - fromMs;
        expect(tookMs).toBeGreaterThanOrEqual((waitMs * 2) / 3);
        // A timer, and the steps of the test, take some milliseconds.
        expect(tookMs).toBeLessThan(waitMs + 15);
      }
    },
  );

  test("end together with others that began up to a third of their wait before or after", async () => {
    const { time, ended, add, pass, endOf } = setUp();
    await pass(10_001 - time.ms);
    const first = add(30_000);
    await pass(9_998);
    const second = add(30_000);
    await pass(2);
    const third = add(30_000);
    await endOf(first);
    expect(ended).toEqual([first, second]);
    expect(await endOf(third)).toBeGreaterThanOrEqual(50_000);
  });

  test("wait for the whole time when their workers call again at once, and stay together", async () => {
    const { time, ended, add, pass, endOf } = setUp();
    await endOf(add(30_000));
    for (let round = 1; round <= 3; round += 1) {
      const fromMs = time.ms;
      const first = add(30_000);
      await pass(700);
      const last = add(30_000);
      expect((await endOf(first)) - fromMs).toBeGreaterThan(29_900);
      expect(ended.slice(-2)).toEqual([first, last]);
    }
  });

  test("end no more when they have ended before, or are closed", async () => {
    const { ends, ended, add, pass } = setUp();
    const left = add(30_000);
    left.group?.delete(left);
    await pass(30_000);
    add(30_000);
    ends.close();
    await pass(60_000);
    expect(ended).toEqual([]);
  });

  test("of a large group end in several turns of the event loop", async () => {
    const { ended, add } = setUp();
    for (let n = 0; n < 100; n += 1) add(30_000);
    vi.advanceTimersByTime(30_010);
    const counts = [ended.length];
    while (ended.length < 100) {
      await setImmediate();
      counts.push(ended.length);
    }
    expect(counts).toEqual([16, 32, 48, 64, 80, 96, 100]);
  });
});
