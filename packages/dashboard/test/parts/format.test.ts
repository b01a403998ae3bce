import { expect, test } from "vitest";
import { formatClock, formatDay, formatDuration, formatExact, formatRelative } from "../../src/time/format.ts";

const AT = Date.parse("2026-11-21T12:00:00.250Z");

test("a moment is written in a zone", () => {
  expect(formatExact(AT, "UTC", { millis: true })).toBe("2026-11-21 12:00:00.250 UTC");
  expect(formatExact(AT, "Europe/Berlin")).toMatch(/^2026-11-21 13:00:00 (CET|GMT\+1)$/);
  expect(formatClock(AT, "Asia/Kolkata")).toBe("17:30:00");
  expect(formatDay(AT, "Pacific/Kiritimati")).toBe("2026-11-22");
});

test.for([
  [0, "now"],
  [-12_000, "12 s ago"],
  [-185_000, "3 min ago"],
  [7_300_000, "in 2 h"],
  [-50 * 3_600_000, "2 d ago"],
] as const)("%i ms from now is %s", ([distance, text]) => {
  expect(formatRelative(AT + distance, AT)).toBe(text);
});

test("what has happened since the time was read is now", () => {
  expect(formatRelative(AT + 3_000, AT, AT + 4_000)).toBe("now");
  expect(formatRelative(AT + 5_000, AT, AT + 4_000)).toBe("in 5 s");
});

test.for([
  [0, "0 ms"],
  [850, "850 ms"],
  [1_240, "1.24 s"],
  [59_940, "59.9 s"],
  [192_000, "3 min 12 s"],
  [3_600_000, "1 h"],
  [187_200_000, "2 d 4 h"],
] as const)("%i ms are %s", ([ms, text]) => {
  expect(formatDuration(ms)).toBe(text);
});
