import { expect, test } from "vitest";
import { foldIdle } from "../../src/pages/runs/timeline/fold-idle.ts";

const HOUR = 3_600_000;

test("without long idle time, moments stand where they are in time", () => {
  const { place, folds } = foldIdle({ from: 0, to: 1_000 }, [{ from: 0, to: 900 }]);
  expect(folds).toEqual([]);
  expect([0, 250, 1_000].map(place)).toEqual([0, 0.25, 1]);
});

test("idle time takes little room, so that the work around it can be seen", () => {
  const { place, folds } = foldIdle({ from: 0, to: HOUR + 2_000 }, [
    { from: 0, to: 1_000 },
    { from: HOUR + 1_000, to: HOUR + 2_000 },
  ]);
  expect(folds).toMatchObject([{ from: 1_000, to: HOUR + 1_000, width: 0.05 }]);
  expect(place(1_000)).toBeCloseTo(0.475);
  expect(place(HOUR / 2 + 1_000)).toBeCloseTo(0.5);
  expect(place(HOUR + 2_000)).toBeCloseTo(1);
});

test("the order of moments stays, however many pauses there are", () => {
  const busy = Array.from({ length: 200 }, (_, at) => ({ from: at * HOUR, to: at * HOUR + 500 + at }));
  const { place, folds } = foldIdle({ from: 0, to: 200 * HOUR }, busy);
  expect(folds.reduce((sum, { width }) => sum + width, 0)).toBeLessThanOrEqual(0.4 + 1e-9);
  const places = busy.flatMap(({ from, to }) => [place(from), place(to)]);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places.every((one) => one >= 0 && one <= 1)).toBe(true);
});
