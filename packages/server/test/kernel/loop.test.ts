import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DeadlineLoop, type LoopOptions, PeriodicLoop, Services } from "#kernel";

const random = { bytes: (length: number) => Buffer.alloc(length), fraction: () => 0 };
let told: Record<string, unknown>[];
let loop: PeriodicLoop;

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
});

afterEach(() => {
  vi.useRealTimers();
});

function run(pass: LoopOptions["pass"], everyMs = 1_000): void {
  loop = new PeriodicLoop({ name: "test", everyMs, pass }, (event, fields) => told.push({ event, ...fields }), random);
  loop.start();
}

/** A pass that ends when a test ends it. */
function heldPass() {
  const ends: (() => void)[] = [];
  return { pass: () => new Promise<void>((resolve) => ends.push(resolve)), end: () => ends.shift()?.(), begun: () => ends.length };
}

describe("a loop", () => {
  test("a loop makes a pass at once and then one in every interval", async () => {
    const pass = vi.fn(async () => {});
    run(pass);
    await vi.advanceTimersByTimeAsync(0);
    expect(pass).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(999);
    expect(pass).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(2_001);
    expect(pass).toHaveBeenCalledTimes(4);
  });

  test("a loop that is to wait first makes its first pass after that, or when it is woken", async () => {
    const pass = vi.fn(async () => {});
    loop = new PeriodicLoop({ name: "test", everyMs: 1_000, pass }, () => {}, random);
    loop.start(5_000);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(pass).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(pass).toHaveBeenCalledTimes(1);
    await loop.stop();
    loop.start(5_000);
    loop.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(pass).toHaveBeenCalledTimes(2);
  });

  test("a loop that is woken as its last pass ends makes another one, in whatever step of that", async () => {
    for (let steps = 0; steps < 10; steps += 1) {
      const { promise: held, resolve: end } = Promise.withResolvers<void>();
      const pass = vi.fn(() => held);
      run(pass, 3_600_000);
      end();
      for (let step = 0; step < steps; step += 1) await null;
      loop.wake();
      await vi.advanceTimersByTimeAsync(0);
      expect(pass, `woken after ${steps} steps`).toHaveBeenCalledTimes(2);
    }
  });

  test("a loop waits up to a tenth less, by chance, so that nodes spread out", async () => {
    const pass = vi.fn(async () => {});
    loop = new PeriodicLoop({ name: "test", everyMs: 1_000, pass }, () => {}, { ...random, fraction: () => 0.999 });
    loop.start();
    await vi.advanceTimersByTimeAsync(901);
    expect(pass).toHaveBeenCalledTimes(2);
  });

  test("a loop comes back sooner when a pass says so, and never later", async () => {
    const waits = [10, 5_000];
    const pass = vi.fn(async () => waits.shift());
    run(pass);
    await vi.advanceTimersByTimeAsync(10);
    expect(pass).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(pass).toHaveBeenCalledTimes(3);
  });

  test("a loop makes a pass when it is woken", async () => {
    const pass = vi.fn(async () => {});
    run(pass);
    await vi.advanceTimersByTimeAsync(0);
    loop.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(pass).toHaveBeenCalledTimes(2);
  });

  test("a loop makes one more pass when it is woken during one, however often, and never two at once", async () => {
    const { pass, end, begun } = heldPass();
    const counted = vi.fn(pass);
    run(counted);
    await vi.advanceTimersByTimeAsync(0);
    for (let index = 0; index < 5; index += 1) loop.wake();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(begun()).toBe(1);
    end();
    await vi.advanceTimersByTimeAsync(0);
    expect(counted).toHaveBeenCalledTimes(2);
    end();
    await vi.advanceTimersByTimeAsync(0);
    expect(counted).toHaveBeenCalledTimes(2);
  });

  test("a loop tells of a pass that failed, and tries again after a wait that doubles from a quarter of a second up to 10", async () => {
    const pass = vi.fn(async () => {
      throw new Error("The database is away.");
    });
    run(pass);
    const waits: number[] = [];
    while (waits.length < 8) {
      const before = pass.mock.calls.length;
      let waited = 0;
      for (; pass.mock.calls.length === before; waited += 50) await vi.advanceTimersByTimeAsync(50);
      waits.push(waited);
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(told.slice(0, 2)).toMatchObject([
      { event: "loop_failed", loop: "test", failures: 1 },
      { event: "loop_failed", failures: 2 },
    ]);
  });

  test("a loop goes on at its interval once a pass succeeds again", async () => {
    let failing = true;
    const pass = vi.fn(async () => {
      if (failing) throw new Error("The database is away.");
    });
    run(pass);
    await vi.advanceTimersByTimeAsync(0);
    failing = false;
    await vi.advanceTimersByTimeAsync(250);
    expect(pass).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(999);
    expect(pass).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(pass).toHaveBeenCalledTimes(3);
  });

  test("a loop that is stopped waits for the pass under way and makes no other", async () => {
    const { pass, end } = heldPass();
    const counted = vi.fn(pass);
    run(counted);
    await vi.advanceTimersByTimeAsync(0);
    let stopped = false;
    loop.wake();
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(stopped).toBe(false);
    end();
    await stopping;
    loop.wake();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(counted).toHaveBeenCalledTimes(1);
  });
});

describe("a loop with deadlines", () => {
  const clock = { nowMs: () => Date.now(), elapsedMs: () => performance.now() };
  const create = (pass: LoopOptions["pass"]) => new DeadlineLoop({ name: "test", horizonMs: 60_000, pass }, clock, () => {}, random);

  test("a loop with deadlines makes no pass when it starts, and none while nothing is due", async () => {
    const pass = vi.fn(async () => {});
    const deadlines = create(pass);
    deadlines.start();
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(pass).not.toHaveBeenCalled();
    await deadlines.stop();
  });

  test("a loop with deadlines looks when messages may be lost, and one with intervals waits for its time", async () => {
    const [pass, hourly] = [vi.fn(async () => {}), vi.fn(async () => {})];
    const deadlines = create(pass);
    const intervals = new PeriodicLoop({ name: "hourly", everyMs: 3_600_000, pass: hourly }, () => {}, random);
    const services = new Services([[deadlines, intervals]], () => {});
    await services.start();
    await vi.advanceTimersByTimeAsync(0);
    services.missed();
    await vi.advanceTimersByTimeAsync(0);
    expect([pass.mock.calls.length, hourly.mock.calls.length]).toEqual([1, 1]);
    services.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect([pass.mock.calls.length, hourly.mock.calls.length]).toEqual([2, 2]);
    await services.stop();
  });

  test("a loop with deadlines makes a pass when something is due, also when that was known before the start", async () => {
    const pass = vi.fn(async () => {});
    const deadlines = create(pass);
    deadlines.expectIn(1_000);
    deadlines.start();
    deadlines.expectIn(5_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(pass).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2);
    expect(pass).toHaveBeenCalledTimes(1);
    deadlines.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(pass).toHaveBeenCalledTimes(2);
    await deadlines.stop();
  });
});
