import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Calendar } from "../../src/schedules/calendar.ts";
import { type DueTicks, planTicks } from "../../src/schedules/plan-ticks.ts";

/** Every ten seconds, from 0 on, up to `endMs`. */
function everyTenSeconds(endMs = Number.POSITIVE_INFINITY): Pick<Calendar, "next" | "newest"> {
  const next = (afterMs: number) => {
    const ms = (Math.floor(afterMs / 10_000) + 1) * 10_000;
    return ms <= endMs ? ms : null;
  };
  const newest = (afterMs: number, untilMs: number, limit: number) => {
    const ticks: number[] = [];
    for (let ms = next(afterMs); ms !== null && ms <= untilMs; ms = next(ms)) ticks.push(ms);
    return ticks.slice(Math.max(0, ticks.length - limit));
  };
  return { next, newest };
}

const plan = (terms: Partial<DueTicks>, calendar = everyTenSeconds()) =>
  planTicks(calendar, {
    ...{ overlap: "allow", catchUp: "last", busy: false, limit: 1_000 },
    ...{ dueMs: 10_000, nowMs: 10_000, catchUpToMs: null, ...terms },
  });

describe("the ticks that are due", () => {
  test.for(["none", "last", "all"] as const)("the ticks that are due run when they are on time, with catch_up %s", (catchUp) => {
    expect(plan({ catchUp })).toEqual({ run: [10_000], skip: null, lastMs: 10_000, nextMs: 20_000, catchUpToMs: null });
    expect(plan({ catchUp, nowMs: 19_999 })).toEqual({ run: [10_000], skip: null, lastMs: 10_000, nextMs: 20_000, catchUpToMs: null });
    expect(plan({ catchUp, nowMs: 20_000 })).toEqual({
      run: [10_000, 20_000],
      skip: null,
      lastMs: 20_000,
      nextMs: 30_000,
      catchUpToMs: null,
    });
  });

  test.for([
    ["none", 20_001, [20_000], 10_000],
    ["none", 55_000, [50_000], 40_000],
    ["last", 20_001, [20_000], 10_000],
    ["last", 55_000, [50_000], 40_000],
    ["all", 20_001, [10_000, 20_000], null],
    ["all", 55_000, [10_000, 20_000, 30_000, 40_000, 50_000], null],
  ] as const)(
    "the ticks that are due are chosen by catch_up %s when the oldest is later than 10 s, at %d ms",
    ([catchUp, nowMs, run, skipped]) => {
      expect(plan({ catchUp, nowMs })).toMatchObject({ run, skip: skipped === null ? null : { atMs: skipped, reason: "catch_up" } });
    },
  );

  test("the ticks that are due are none, with catch_up none, when the newest is too late as well", () => {
    expect(plan({ catchUp: "none", nowMs: 30_000 }, everyTenSeconds(10_000))).toEqual({
      run: [],
      skip: { firstMs: 10_000, atMs: 10_000, reason: "catch_up" },
      lastMs: 10_000,
      nextMs: null,
      catchUpToMs: null,
    });
  });

  test("the ticks that are due are the newest 1,000 of those missed, with catch_up all", () => {
    const { run, skip, nextMs } = plan({ catchUp: "all", nowMs: 20_000_000, limit: 5_000 });
    expect(run).toHaveLength(1_000);
    expect([run[0], run.at(-1)]).toEqual([10_010_000, 20_000_000]);
    expect([skip, nextMs]).toEqual([{ firstMs: 10_000, atMs: 10_000_000, reason: "catch_up" }, 20_010_000]);
  });

  test("the ticks that are due run as far as there is room; the rest stays chosen, however late it is by then, and no more than that is", () => {
    expect(plan({ catchUp: "all", nowMs: 55_000, limit: 2 })).toEqual({
      ...{ run: [10_000, 20_000], skip: null, lastMs: 20_000 },
      ...{ nextMs: 30_000, catchUpToMs: 50_000 },
    });
    expect(plan({ catchUp: "none", dueMs: 30_000, catchUpToMs: 50_000, nowMs: 90_000 })).toEqual({
      ...{ run: [30_000, 40_000, 50_000], skip: null, lastMs: 50_000 },
      ...{ nextMs: 60_000, catchUpToMs: null },
    });
  });

  test("the ticks that are due are none when the schedule waited for a moment that is no tick any more", () => {
    expect(plan({ dueMs: 15_000, nowMs: 16_000 })).toEqual({ run: [], skip: null, lastMs: null, nextMs: 20_000, catchUpToMs: null });
    expect(plan({ dueMs: 15_000, nowMs: 20_000 })).toMatchObject({ run: [20_000], nextMs: 30_000 });
  });
});

describe("with overlap skip", () => {
  test("no due tick runs with overlap skip while a job of the schedule has not finished", () => {
    expect(plan({ overlap: "skip", busy: true })).toEqual({
      run: [],
      skip: { firstMs: 10_000, atMs: 10_000, reason: "overlap" },
      lastMs: 10_000,
      nextMs: 20_000,
      catchUpToMs: null,
    });
  });

  test("the first of several due ticks runs with overlap skip", () => {
    expect(plan({ overlap: "skip", catchUp: "all", nowMs: 35_000 })).toEqual({
      run: [10_000],
      skip: { firstMs: 20_000, atMs: 30_000, reason: "overlap" },
      lastMs: 30_000,
      nextMs: 40_000,
      catchUpToMs: null,
    });
  });

  test("what catch_up has chosen is skipped for the overlap, not for the downtime", () => {
    expect(plan({ overlap: "skip", busy: true, nowMs: 35_000 })).toMatchObject({
      run: [],
      skip: { firstMs: 10_000, atMs: 30_000, reason: "overlap" },
    });
  });
});

test("whatever is due, plans that follow one another run each tick once, and leave none behind that could run", () => {
  const terms = fc.record({
    overlap: fc.constantFrom("allow" as const, "skip" as const),
    catchUp: fc.constantFrom("none" as const, "last" as const, "all" as const),
    waits: fc.array(fc.tuple(fc.integer({ min: 1, max: 120_000 }), fc.boolean(), fc.integer({ min: 1, max: 4 })), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(terms, ({ overlap, catchUp, waits }) => {
      let [dueMs, nowMs, catchUpToMs] = [10_000, 0, null as number | null];
      const run: number[] = [];
      for (const [waitMs, busy, limit] of waits) {
        nowMs += waitMs;
        while (dueMs <= nowMs) {
          const made = plan({ overlap, catchUp, busy, dueMs, nowMs, limit, catchUpToMs });
          expect(made.run.length).toBeLessThanOrEqual(limit);
          expect(made.lastMs ?? 0).toBeLessThan(made.nextMs ?? 0);
          for (const ms of made.run) expect([ms % 10_000, ms >= dueMs, ms <= (made.lastMs ?? 0)]).toEqual([0, true, true]);
          if (overlap === "allow" && catchUp === "all") expect(made.run[0]).toBe(dueMs);
          run.push(...made.run);
          dueMs = made.nextMs ?? 0;
          catchUpToMs = made.catchUpToMs;
        }
        expect(dueMs).toBe((Math.floor(nowMs / 10_000) + 1) * 10_000);
      }
      expect(run).toEqual([...new Set(run)].sort((one, other) => one - other));
    }),
  );
});
