import { describe, expect, test } from "vitest";
import { diffLines, textLines } from "../../src/pages/approvals/diff-lines.ts";
import { inWords } from "../../src/pages/schedules/in-words.ts";
import { daysOf, monthAfter, startOfDay } from "../../src/time/months.ts";

describe("the calendar of a month", () => {
  const shifts = (month: string, zone: string) => daysOf(month, zone).filter(({ shiftMinutes }) => shiftMinutes !== 0);

  test("has the days on which the clocks are set forward and back", () => {
    expect(shifts("2027-03", "Europe/Berlin")).toEqual([{ day: "2027-03-28", shiftMinutes: 60, shifted: "02:00–03:00" }]);
    expect(shifts("2026-10", "Europe/Berlin")).toEqual([{ day: "2026-10-25", shiftMinutes: -60, shifted: "02:00–03:00" }]);
    expect(shifts("2027-04", "Australia/Lord_Howe")).toEqual([{ day: "2027-04-04", shiftMinutes: -30, shifted: "01:30–02:00" }]);
    expect(shifts("2027-03", "UTC")).toEqual([]);
    expect(daysOf("2028-02", "Europe/Berlin")).toHaveLength(29);
  });

  test("begins a day by the clocks of the zone, also where they skip midnight", () => {
    expect(startOfDay("2027-03-29", "Europe/Berlin")).toBe(Date.parse("2027-03-28T22:00:00Z"));
    expect(startOfDay("2026-11-01", "America/New_York")).toBe(Date.parse("2026-11-01T04:00:00Z"));
    expect(monthAfter("2026-12", 1)).toBe("2027-01");
    expect(monthAfter("2026-01", -1)).toBe("2025-12");
  });
});

test("a pattern is shown in words", () => {
  expect(inWords("30 2 * * *")).toBe("At 02:30, every day");
  expect(inWords("0 9,12,17 * * *")).toBe("At 09:00, 12:00 and 17:00, every day");
  expect(inWords("0 7 * * 1-5")).toBe("At 07:00, Monday through Friday");
  expect(inWords("*/15 * * * *")).toBe("Every 15 minutes");
  expect(inWords("@weekly")).toContain("Sunday");
  expect(inWords("not a pattern")).toBe("not a pattern");
});

test("texts of JSON are compared line by line", () => {
  const lines = diffLines(textLines('{"a":1,"b":[1,2],"c":12345678901234567890}'), textLines('{"a":1,"b":[2,3],"c":12345678901234567890}'));
  expect(lines?.filter(({ change }) => change !== "same")).toEqual([
    { change: "removed", text: "    1," },
    { change: "removed", text: "    2" },
    { change: "added", text: "    2," },
    { change: "added", text: "    3" },
  ]);
  expect(diffLines(["a"], ["a"])).toEqual([{ change: "same", text: "a" }]);
  expect(
    diffLines(
      Array.from({ length: 3_000 }, (_, at) => `a${at}`),
      Array.from({ length: 3_000 }, (_, at) => `b${at}`),
    ),
  ).toBeNull();
});
