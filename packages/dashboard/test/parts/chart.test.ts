import { expect, test } from "vitest";
import { formatRough } from "../../src/time/format.ts";
import { COUNT_STEPS, DURATION_STEPS } from "../../src/ui/chart/axis-steps.ts";
import { describeSeries } from "../../src/ui/chart/describe-series.ts";

test("the steps of an axis are ascending whole numbers, of the unit in which they are written", () => {
  for (const steps of [COUNT_STEPS, DURATION_STEPS]) expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
  expect(COUNT_STEPS.filter((step) => !Number.isSafeInteger(step))).toEqual([]);
  expect(DURATION_STEPS.map(formatRough).filter((text) => text.includes("."))).toEqual([]);
});

test("the label of a chart gives values with their units", () => {
  const series = { name: "Longest wait", color: "--rest", values: [null, 90_000, 1_500, null] };
  expect(describeSeries(series, formatRough)).toBe("Longest wait: last 1.5 s, highest 1.5 min");
  expect(describeSeries({ ...series, values: [null] }, formatRough)).toBe("Longest wait: none");
});
