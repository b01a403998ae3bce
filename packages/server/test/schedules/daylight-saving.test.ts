import { describe, expect, test } from "vitest";
import { readCalendar } from "../../src/schedules/calendar.ts";

/** The ticks between two moments. */
function ticks(cron: string, zone: string, from: string, until: string): string[] {
  const all = readCalendar(cron, zone).newest(Date.parse(`${from}Z`) - 1, Date.parse(`${until}Z`), 1_000);
  return all.map((ms) => new Date(ms).toISOString().slice(0, 16));
}

describe("when New York's clocks jump from 02:00 to 03:00, at 07:00 UTC on 8 March 2026,", () => {
  const onThatDay = (cron: string) => ticks(cron, "America/New_York", "2026-03-08T05:00", "2026-03-08T12:00");

  test.each([
    ["what was due in the gap runs when it is over", "30 2 * * *", ["2026-03-08T07:00"]],
    ["what was due when it began does too", "0 2 * * *", ["2026-03-08T07:00"]],
    ["several times of the gap run once", "*/20 2 * * *", ["2026-03-08T07:00"]],
    ["and so does a time of the gap with the one that ends it", "0 2,3 * * *", ["2026-03-08T07:00"]],
    ["what is due when it is over runs as ever", "0 3 * * *", ["2026-03-08T07:00"]],
    [
      "every two hours: 2 o'clock is made up for",
      "0 */2 * * *",
      ["2026-03-08T05:00", "2026-03-08T07:00", "2026-03-08T08:00", "2026-03-08T10:00", "2026-03-08T12:00"],
    ],
    [
      "every hour goes on, an hour apart",
      "30 * * * *",
      [
        "2026-03-08T05:30",
        "2026-03-08T06:30",
        "2026-03-08T07:30",
        "2026-03-08T08:30",
        "2026-03-08T09:30",
        "2026-03-08T10:30",
        "2026-03-08T11:30",
      ],
    ],
  ])("a schedule meets New York's jump from 02:00 to 03:00, %s: %s", (_, cron, expected) => {
    expect(onThatDay(cron)).toEqual(expected);
  });
});

describe("when New York's clocks go back from 02:00 to 01:00, at 06:00 UTC on 1 November 2026,", () => {
  const onThatDay = (cron: string) => ticks(cron, "America/New_York", "2026-11-01T04:00", "2026-11-01T08:30");

  test.each([
    ["what is due twice runs the first time", "30 1 * * *", ["2026-11-01T05:30"]],
    ["so does the moment that comes twice at the very change", "0 1 * * *", ["2026-11-01T05:00"]],
    ["several times that come twice each run once", "*/20 1 * * *", ["2026-11-01T05:00", "2026-11-01T05:20", "2026-11-01T05:40"]],
    ["what is due at 2 runs when it is 2 at last", "0 2 * * *", ["2026-11-01T07:00"]],
    ["every two hours: three hours lie between 0 and 2 o'clock", "0 */2 * * *", ["2026-11-01T04:00", "2026-11-01T07:00"]],
    [
      "every hour goes on, an hour apart",
      "0 * * * *",
      ["2026-11-01T04:00", "2026-11-01T05:00", "2026-11-01T06:00", "2026-11-01T07:00", "2026-11-01T08:00"],
    ],
  ])("a schedule meets New York's return from 02:00 to 01:00, %s: %s", (_, cron, expected) => {
    expect(onThatDay(cron)).toEqual(expected);
  });
});

test("what ran in the hour that New York's clocks show twice runs the first time only", () => {
  const calendar = readCalendar("*/20 1 * * *", "America/New_York");
  const secondHalfPastOne = Date.parse("2026-11-01T06:30:00Z");
  expect(calendar.next(secondHalfPastOne)).toBe(Date.parse("2026-11-02T06:00:00Z"));
  expect(calendar.newest(0, secondHalfPastOne, 1)).toEqual([Date.parse("2026-11-01T05:40:00Z")]);
});

describe("when Lord Howe's clocks are set by half an hour,", () => {
  const zone = "Australia/Lord_Howe";

  test("what was due in the half hour that is left out runs after it, at 02:30", () => {
    expect(ticks("15 2 * * *", zone, "2026-10-03T12:00", "2026-10-03T20:00")).toEqual(["2026-10-03T15:30"]);
  });

  test("a schedule of every quarter of an hour goes on through the gap", () => {
    expect(ticks("*/15 * * * *", zone, "2026-10-03T15:00", "2026-10-03T16:00")).toEqual([
      "2026-10-03T15:00",
      "2026-10-03T15:15",
      "2026-10-03T15:30",
      "2026-10-03T15:45",
      "2026-10-03T16:00",
    ]);
  });

  test("what is due in the half hour that comes twice runs the first time", () => {
    expect(ticks("45 1 * * *", zone, "2026-04-04T12:00", "2026-04-04T20:00")).toEqual(["2026-04-04T14:45"]);
  });

  test("a schedule of every hour at a quarter to runs both times", () => {
    expect(ticks("45 * * * *", zone, "2026-04-04T14:00", "2026-04-04T16:30")).toEqual([
      "2026-04-04T14:45",
      "2026-04-04T15:15",
      "2026-04-04T16:15",
    ]);
  });
});

describe("when Apia leaves out 30 December 2011, at 10:00 UTC,", () => {
  test("what was due on the day that is left out runs when the 31st begins", () => {
    expect(ticks("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00", "2011-12-31T12:00")).toEqual([
      "2011-12-29T22:00",
      "2011-12-30T10:00",
      "2011-12-30T22:00",
    ]);
  });

  test("what is due on the 30th of December runs then, that year", () => {
    expect(ticks("30 18 30 12 *", "Pacific/Apia", "2010-12-01T00:00", "2012-12-31T23:00")).toEqual([
      "2010-12-31T04:30",
      "2011-12-30T10:00",
      "2012-12-30T04:30",
    ]);
  });

  test("a schedule of every six hours runs the four times of that day once", () => {
    expect(ticks("0 */6 * * *", "Pacific/Apia", "2011-12-30T00:00", "2011-12-30T22:00")).toEqual([
      "2011-12-30T04:00",
      "2011-12-30T10:00",
      "2011-12-30T16:00",
      "2011-12-30T22:00",
    ]);
  });
});

test("what is due at a midnight that São Paulo's clocks skip runs at 01:00", () => {
  expect(ticks("0 0 * * *", "America/Sao_Paulo", "2018-11-03T00:00", "2018-11-05T12:00")).toEqual([
    "2018-11-03T03:00",
    "2018-11-04T03:00",
    "2018-11-05T02:00",
  ]);
});

test("what is due between 23:00 and a midnight that São Paulo's clocks reach twice runs the first time", () => {
  expect(ticks("30 23 * * *", "America/Sao_Paulo", "2019-02-16T12:00", "2019-02-18T12:00")).toEqual([
    "2019-02-17T01:30",
    "2019-02-18T02:30",
  ]);
});

test("Dublin's winter time, which its law calls the exception, is an overlap and a gap like any other", () => {
  expect(ticks("30 1 * * *", "Europe/Dublin", "2026-10-24T12:00", "2026-10-26T12:00")).toEqual(["2026-10-25T00:30", "2026-10-26T01:30"]);
  expect(ticks("30 1 * * *", "Europe/Dublin", "2026-03-28T12:00", "2026-03-30T12:00")).toEqual(["2026-03-29T01:00", "2026-03-30T00:30"]);
});

test("Casablanca's clocks are set four times in 2014, for Ramadan too: what is due at 02:30 runs each day once", () => {
  const all = ticks("30 2 * * *", "Africa/Casablanca", "2014-01-01T00:00", "2014-12-31T23:00");
  expect(all).toHaveLength(365);
  expect(new Set(all.map((tick) => tick.slice(0, 10))).size).toBe(365);
  expect(all.filter((tick) => !tick.endsWith("T02:30") && !tick.endsWith("T01:30"))).toEqual(["2014-03-30T02:00", "2014-08-02T02:00"]);
});
