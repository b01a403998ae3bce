import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Calendar, Calendars, CronError, readCalendar, UnknownZoneError } from "../../src/schedules/calendar.ts";

const NOON = Date.parse("2026-11-22T12:00:00Z");
const MINUTE_MS = 60_000;

/** Moments at which clocks change: by half an hour, a day, some seconds, at midnight, for Ramadan. */
const CHANGES = [
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
  ["Africa/Casablanca", "2014-06-28T02:00:00Z"],
  ["Africa/Casablanca", "2014-08-02T02:00:00Z"],
  ["America/Sao_Paulo", "2019-02-17T02:00:00Z"],
  ["Africa/Monrovia", "1972-01-07T00:44:30Z"],
  ["Antarctica/Vostok", "1994-01-31T17:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
] as const;
const beside = fc
  .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -30_000, max: 30_000 }))
  .map(([[zone, change], seconds]) => ({ zone, afterMs: Date.parse(change) + seconds * 1_000 }));
const anywhere = fc.record({
  zone: fc.constantFrom(...Intl.supportedValuesOf("timeZone")),
  afterMs: fc.integer({ min: 0, max: Date.UTC(2060, 0) }),
});
const cron = fc.constantFrom(
  "* * * * * *",
  "*/20 * * * *",
  "@hourly",
  "0 * 1 * *",
  "30 */6 * * SUN",
  "0 */2 * * *",
  "*/20 1-3 * * *",
  "30 2 * * *",
  "0 0 L * *",
  "15 0,1,2,23 1-10 * *",
  "0 12 29 2 *",
);

function walk(calendar: Calendar, afterMs: number, steps: number): number[] {
  const ticks: number[] = [];
  for (let tick = calendar.next(afterMs); tick !== null && ticks.length < steps; tick = calendar.next(tick)) ticks.push(tick);
  return ticks;
}

test("a calendar counts as many ticks as come one after the other", () => {
  fc.assert(
    fc.property(cron, fc.oneof(beside, anywhere), fc.nat(60), fc.nat(2_000), (text, { zone, afterMs }, steps, seconds) => {
      const calendar = readCalendar(text, zone);
      const fromMs = Math.floor(afterMs / 1_000) * 1_000;
      const ticks = walk(calendar, fromMs - 1_000, steps).filter((tick) => tick < fromMs + 2 * 86_400_000);
      const untilMs = Math.max(fromMs, (ticks.at(-1) ?? fromMs) + (text === "* * * * * *" ? 1_000 : 0));
      const within = walk(calendar, fromMs - 1_000, steps + 1).filter((tick) => tick < untilMs).length;
      expect(calendar.count(fromMs, untilMs)).toBe(within);
      expect(calendar.count(fromMs, fromMs + seconds * 1_000)).toBeLessThanOrEqual(seconds);
    }),
    { numRuns: 2_000 },
  );
});

describe("a calendar's newest ticks", () => {
  test("a calendar's newest ticks are the last of those that come one after the other", () => {
    fc.assert(
      fc.property(cron, fc.oneof(beside, anywhere), fc.nat(60), fc.integer({ min: 1, max: 70 }), (text, { zone, afterMs }, steps, most) => {
        const calendar = readCalendar(text, zone);
        const ticks = walk(calendar, afterMs, steps);
        expect(ticks).toEqual([...new Set(ticks)].sort((a, b) => a - b));
        expect(ticks.every((tick) => tick > afterMs && tick % 1_000 === 0)).toBe(true);
        expect(calendar.newest(afterMs, ticks.at(-1) ?? afterMs, most)).toEqual(ticks.slice(-most));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a calendar's newest ticks come after the first moment, and not after the last", () => {
    const calendar = readCalendar("* * * * *", "UTC");
    expect(calendar.newest(NOON, NOON + 2 * MINUTE_MS, 10)).toEqual([NOON + MINUTE_MS, NOON + 2 * MINUTE_MS]);
    expect(calendar.newest(NOON, NOON + 2 * MINUTE_MS - 1, 10)).toEqual([NOON + MINUTE_MS]);
    expect(calendar.newest(NOON - 1, NOON + 1, 10)).toEqual([NOON]);
    expect(calendar.newest(NOON, NOON, 10)).toEqual([]);
    expect(calendar.newest(NOON, NOON + MINUTE_MS, 0)).toEqual([]);
  });

  test("a calendar's newest ticks are found without a walk through the years before them", () => {
    const second = readCalendar("* * * * * *", "America/New_York");
    expect(second.newest(0, NOON, 2)).toEqual([NOON - 1_000, NOON]);
    expect(second.newest(0, NOON, 1_000)).toHaveLength(1_000);
  });
});

describe("a calendar's next tick", () => {
  test("a calendar's next tick comes after the moment, which need not be a whole second", () => {
    const calendar = readCalendar("* * * * *", "UTC");
    expect([calendar.next(NOON - 0.5), calendar.next(NOON), calendar.next(NOON + 0.5)]).toEqual([NOON, NOON + MINUTE_MS, NOON + MINUTE_MS]);
  });

  test("a calendar's next tick is null when there is none any more", () => {
    expect(readCalendar("0 0 * * *", "Europe/Berlin").next(Date.UTC(3000, 0, 2))).toBeNull();
    expect(readCalendar("0 * * * *", "Europe/Berlin").next(Date.UTC(3000, 0, 2))).toBeNull();
  });
});

describe("a time zone", () => {
  test.each(["UTC", "Etc/GMT+5", "Europe/Kyiv", "Europe/Kiev", "europe/berlin", "EST", "GB", "EST5EDT"])(
    "a time zone %s is known",
    (name) => {
      expect(readCalendar("@daily", name).next(NOON)).not.toBeNull();
    },
  );

  test.each([
    ["", "no name"],
    ["Mars/Olympus", "unknown"],
    ["Etc/Unknown", "unknown"],
    ["+01:00", "an offset"],
    ["-0330", "an offset"],
    ["UTC+1", "an offset"],
    ["BST", "Dhaka's in one list of names and London's in another"],
    ["CST", "Chicago's or Shanghai's"],
    ["UTC ", "not a name to the letter"],
    ["\u212Awajalein", "not a name to the letter"],
  ])("a time zone %j is refused: %s", (name) => {
    expect(() => readCalendar("@daily", name)).toThrow(UnknownZoneError);
    expect(() => readCalendar("@daily", name)).toThrow(`${JSON.stringify(name)} is not an IANA time zone`);
  });
});

describe("calendars that are kept", () => {
  test("calendars that are kept are read once for the same expression and zone", () => {
    const calendars = new Calendars();
    const kept = calendars.of("@daily", "UTC");
    expect(calendars.of("@daily", "UTC")).toBe(kept);
    expect(calendars.of("@daily", "Europe/Berlin")).not.toBe(kept);
    expect(calendars.of("@hourly", "UTC")).not.toBe(kept);
  });

  test("calendars that are kept make room for new ones, those first that were asked for longest ago", () => {
    const calendars = new Calendars();
    const [used, unused] = [calendars.of("@daily", "UTC"), calendars.of("@weekly", "UTC")];
    for (let second = 0; second < 3_999; second += 1) {
      calendars.of(`${second % 60} ${Math.floor(second / 60) % 60} ${Math.floor(second / 3_600)} * * *`, "UTC");
      calendars.of("@daily", "UTC");
    }
    expect(calendars.of("@daily", "UTC")).toBe(used);
    expect(calendars.of("@weekly", "UTC")).not.toBe(unused);
  });

  test("calendars that are kept are refused as those that are not, each time", () => {
    const calendars = new Calendars();
    for (const _ of [1, 2]) {
      expect(() => calendars.of("0 0 31 4 *", "UTC")).toThrow(CronError);
      expect(() => calendars.of("@daily", "Mars/Olympus")).toThrow(UnknownZoneError);
    }
  });
});
