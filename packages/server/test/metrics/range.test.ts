import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toMoment } from "#kernel";
import { addTo, quantileOf } from "../../src/jobs/histogram.ts";
import { rangeOf } from "../../src/metrics/range.ts";

const NOW = Date.parse("2026-11-21T12:00:30Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const asked = (fromMs: number, step?: number) => rangeOf({ from: toMoment(NOW - fromMs), ...(step !== undefined && { step }) }, NOW, 30);

describe("the range of metrics", () => {
  test("a query without a range is the last hour, by the minute", () => {
    const { fromMs, toMs, stepSeconds } = rangeOf({}, NOW, 30);
    expect([toMoment(fromMs), toMoment(toMs), stepSeconds]).toEqual(["2026-11-21T11:00:00.000Z", "2026-11-21T12:01:00.000Z", 60]);
  });

  test.for([
    [HOUR, 60],
    [10 * HOUR, 300],
    [2 * DAY, 900],
    [6 * DAY, 3_600],
    [10 * DAY, 21_600],
    [80 * DAY, 86_400],
    [7 * DAY + MINUTE, 3_600],
  ])("the step of %i ms is %i s unless given: a chart is not made of thousands", ([ms, step]) => {
    expect(asked(ms as number).stepSeconds).toBe(step);
  });

  test("minutes are read only as far back as they are kept", () => {
    expect(asked(6 * DAY, 900)).toMatchObject({ span: 60, keptFromMs: NOW - 7 * DAY });
    expect(() => asked(8 * DAY, 900)).toThrow(/minutes are kept for 7 days/);
    expect(asked(8 * DAY, 3_600)).toMatchObject({ span: 3_600, keptFromMs: NOW - 30 * DAY });
    expect(rangeOf({ step: 3_600 }, NOW, null).keptFromMs).toBeNull();
  });

  test.for([
    [{ from: toMoment(NOW), to: toMoment(NOW - 1) }, "from"],
    [{ from: toMoment(NOW), to: toMoment(NOW) }, "from"],
    [{ step: 61 }, "step"],
    [{ from: toMoment(NOW - 2 * DAY), step: 60 }, "step"],
  ] as const)("%j is refused, with the field that is wrong", ([query, path]) => {
    expect(() => rangeOf(query, NOW, 30)).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR", details: { issues: [expect.objectContaining({ path })] } }),
    );
  });
});

describe("histograms of latencies", () => {
  test("a quantile is within a bucket of what it is, also of added histograms", () => {
    const latencies = fc.array(fc.double({ min: 2, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(latencies, latencies, fc.constantFrom(0.5, 0.99), (some, others, part) => {
        const histogram = histogramOf(some);
        addTo(histogram, histogramOf(others));
        const sorted = [...some, ...others].sort((a, b) => a - b);
        const exact = sorted[Math.ceil(part * sorted.length) - 1] as number;
        const found = quantileOf(histogram, part) as number;
        // It is rounded to tenths of a millisecond.
        expect(found).toBeGreaterThanOrEqual(exact / 1.25 - 0.06);
        expect(found).toBeLessThanOrEqual(exact * 1.25 + 0.06);
      }),
    );
  });

  test("a histogram without jobs has no quantile", () => {
    expect([quantileOf([], 0.5), quantileOf([0, 0], 0.99)]).toEqual([null, null]);
  });
});

/** As `latency_bucket` puts them. */
function histogramOf(latencies: readonly number[]): number[] {
  const histogram: number[] = [];
  for (const ms of latencies) {
    const bucket = Math.min(95, Math.max(0, Math.ceil(Math.log(Math.max(ms, 1)) / Math.log(1.25))));
    for (let at = histogram.length; at <= bucket; at += 1) histogram[at] = 0;
    histogram[bucket] = (histogram[bucket] ?? 0) + 1;
  }
  return histogram;
}
