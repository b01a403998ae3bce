import fc from "fast-check";
import { afterEach, describe, expect } from "vitest";
import { DatabaseClock, parseHttpDate, parseMoment, rows, sql, toMoment, toRfc3339 } from "#kernel";
import { test } from "../harness/engine.ts";

const NOON = Date.UTC(2026, 10, 21, 12);

describe("a moment of a request", () => {
  test.each([
    ["2026-11-21T12:00:00Z", NOON],
    ["2026-11-21t12:00:00z", NOON],
    ["2026-11-21T12:00:00.5Z", NOON + 500],
    ["2026-11-21T12:00:00.123456789Z", NOON + 123],
    ["2026-11-21T13:30:00+01:30", NOON],
    ["2026-11-21T07:00:00-05:00", NOON],
    ["2026-11-22T11:59:00+23:59", NOON],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
  ])("a moment %s in a request is understood", (text, ms) => {
    expect(parseMoment(text)).toBe(ms);
  });

  test.each([
    "",
    "now",
    "2026-11-21",
    "2026-11-21 12:00:00Z",
    "2026-11-21T12:00Z",
    "2026-11-21T12:00:00",
    "2026-11-21T12:00:00.Z",
    "2026-11-21T12:00:00.1234567890Z",
    "2026-11-21T12:00:00+0100",
    "2026-11-21T12:00:00+24:00",
    "2026-11-21T25:00:00Z",
    "2026-11-21T12:60:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-11-31T00:00:00Z",
    "2026-11-00T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "+002026-11-21T12:00:00Z",
    "1795262400",
    " 2026-11-21T12:00:00Z",
    "2026-11-21T12:00:00Z\n",
  ])("an HTTP date %j is none", (text) => {
    expect(parseMoment(text)).toBeNull();
  });

  test("a moment with the hour 24 is refused: RFC 3339 ends a day at 23:59:59", () => {
    expect(parseMoment("2026-11-21T24:00:00Z")).toBeNull();
  });

  test("a moment that a record shows is read back as it was", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (ms) => parseMoment(toMoment(ms)) === ms));
  });
});

describe("a moment of the database", () => {
  const shownByPostgres = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });

  test("a moment of the database is shown as RFC 3339 in UTC with milliseconds", async ({ engine }) => {
    await fc.assert(
      fc.asyncProperty(shownByPostgres, async (ms) => {
        expect(await rows(engine, sql`select ${new Date(ms).toISOString()}::timestamptz as at`)).toEqual([
          { at: new Date(ms).toISOString() },
        ]);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["2026-11-21 09:30:00+00", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21 09:30:00.1+00", "2026-11-21T09:30:00.100Z"],
    ["2026-11-21 09:30:00.123456+00", "2026-11-21T09:30:00.123Z"],
    ["2026-11-21 09:30:00.999999+00", "2026-11-21T09:30:00.999Z"],
  ])("a moment %s of the database is shown as %s", (text, shown) => {
    expect(toRfc3339(text)).toBe(shown);
  });
});

describe("an HTTP date", () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  // RFC 9110, section 5.6.7: a recipient must accept all three; all three are in UTC.
  test.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
    "an HTTP date %s is the same moment wherever the node runs",
    (text) => {
      for (const place of ["UTC", "America/New_York", "Asia/Kolkata"]) {
        process.env.TZ = place;
        expect(parseHttpDate(text)).toBe(784_111_777_000);
      }
    },
  );

  test.each(["", "soon", "tomorrow", "12abc", "1.5", "-5", "2026"])("an HTTP date %j is none", (text) => {
    expect(parseHttpDate(text)).toBeNull();
  });
});

describe("the node's clock", () => {
  const ahead = (clock: DatabaseClock, ms: number): number => Math.round((clock.nowMs() - ms) / 1_000);

  test("the node's clock takes over the database's time", () => {
    const clock = new DatabaseClock();
    clock.follow(NOON, performance.now());
    expect(ahead(clock, NOON)).toBe(0);
  });

  test.each([500, 8_500])(
    "a response that came 9 s after its request, with a time read %d ms ago, changes nothing that may be right",
    (agoMs) => {
      const clock = new DatabaseClock();
      clock.follow(NOON, performance.now());
      clock.follow(NOON - agoMs, performance.now() - 9_000);
      expect(ahead(clock, NOON)).toBe(0);
    },
  );

  test.each([
    [60_000, 60],
    [-60_000, -51],
  ])("such a response corrects a clock that is wrong by %d ms as far as it proves that", (wrongMs, seconds) => {
    const clock = new DatabaseClock();
    clock.follow(NOON, performance.now());
    clock.follow(NOON + wrongMs, performance.now() - 9_000);
    expect(ahead(clock, NOON)).toBe(seconds);
  });
});
