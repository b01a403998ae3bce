import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cron, CronError, readCron } from "../../src/schedules/cron.ts";
import { anyCharacter } from "../harness/any-character.ts";

const FROM = Date.parse("2026-11-22T12:00:00Z");

function firstTimes(text: string, count = 3): string[] {
  const cron = readCron(text);
  const times: string[] = [];
  for (let at = cron.after(FROM); at !== null && times.length < count; at = cron.after(at)) {
    times.push(new Date(at).toISOString().slice(0, 19));
  }
  return times;
}

describe("a cron expression is read as in crontab", () => {
  test.each([
    ["five fields", "15 2 * * *", ["2026-11-23T02:15:00", "2026-11-24T02:15:00", "2026-11-25T02:15:00"]],
    ["six, with seconds first", "30 15 2 * * *", ["2026-11-23T02:15:30", "2026-11-24T02:15:30", "2026-11-25T02:15:30"]],
    ["lists, ranges and steps", "0,40 13-15/2 * * *", ["2026-11-22T13:00:00", "2026-11-22T13:40:00", "2026-11-22T15:00:00"]],
    ["names, in any letters", "0 0 * jan,FEB Mon-Tue", ["2027-01-04T00:00:00", "2027-01-05T00:00:00", "2027-01-11T00:00:00"]],
    ["Sunday as 0 or 7", "0 0 * * 7", ["2026-11-29T00:00:00", "2026-12-06T00:00:00", "2026-12-13T00:00:00"]],
    [
      "day of month or day of week, when both are given",
      "0 0 1 * TUE",
      ["2026-11-24T00:00:00", "2026-12-01T00:00:00", "2026-12-08T00:00:00"],
    ],
    ["the last day of a month", "0 0 L * *", ["2026-11-30T00:00:00", "2026-12-31T00:00:00", "2027-01-31T00:00:00"]],
    ["the last weekday of a month", "0 0 LW * *", ["2026-11-30T00:00:00", "2026-12-31T00:00:00", "2027-01-29T00:00:00"]],
    ["the weekday nearest to a day", "0 0 15W * *", ["2026-12-15T00:00:00", "2027-01-15T00:00:00", "2027-02-15T00:00:00"]],
    ["the last of a weekday", "0 0 * * FRIL", ["2026-11-27T00:00:00", "2026-12-25T00:00:00", "2027-01-29T00:00:00"]],
    ["the second of a weekday", "0 0 * * 1#2", ["2026-12-14T00:00:00", "2027-01-11T00:00:00", "2027-02-08T00:00:00"]],
    ["leap days", "0 0 29 2 *", ["2028-02-29T00:00:00", "2032-02-29T00:00:00", "2036-02-29T00:00:00"]],
    ["a leap day that is a Monday", "0 0 * 2 1#5", ["2044-02-29T00:00:00", "2072-02-29T00:00:00", "2112-02-29T00:00:00"]],
    ["tabs and spaces between fields", " 0\t0  1 1 * ", ["2027-01-01T00:00:00", "2028-01-01T00:00:00", "2029-01-01T00:00:00"]],
    ["@hourly", "@hourly", ["2026-11-22T13:00:00", "2026-11-22T14:00:00", "2026-11-22T15:00:00"]],
    ["@daily", "@daily", ["2026-11-23T00:00:00", "2026-11-24T00:00:00", "2026-11-25T00:00:00"]],
    ["@weekly", "@weekly", ["2026-11-29T00:00:00", "2026-12-06T00:00:00", "2026-12-13T00:00:00"]],
    ["@monthly", "@monthly", ["2026-12-01T00:00:00", "2027-01-01T00:00:00", "2027-02-01T00:00:00"]],
    ["@yearly", "@yearly", ["2027-01-01T00:00:00", "2028-01-01T00:00:00", "2029-01-01T00:00:00"]],
  ])("a cron expression is read as in crontab, %s: %s", (_, text, times) => {
    expect(firstTimes(text)).toEqual(times);
  });
});

describe("a cron expression is refused, with what is wrong and where", () => {
  test.each([
    ["nothing", "", "has 0 fields"],
    ["four fields", "* * * *", "has 4 fields"],
    ["seven fields", "0 0 0 1 1 * 2031", "has 7 fields"],
    ["a second that there is not", "60 * * * * *", 'second "60" cannot be read: it takes 0 to 59'],
    ["a minute that there is not", "60 * * * *", 'minute "60" cannot be read: it takes 0 to 59'],
    ["an hour that there is not", "0 24 * * *", 'hour "24" cannot be read: it takes 0 to 23'],
    ["a day that there is not", "0 0 32 * *", 'day of month "32" cannot be read: it takes 1 to 31'],
    ["a day 0", "0 0 0 * *", 'day of month "0" cannot be read: it takes 1 to 31'],
    ["a month that there is not", "0 0 * 13 *", 'month "13" cannot be read: it takes 1 to 12'],
    ["a weekday that there is not", "0 0 * * 8", 'day of week "8" cannot be read: it takes 0 to 7'],
    ["a sixth Monday", "0 0 * * 1#6", 'day of week "1#6" cannot be read'],
    ["a step of nothing", "*/0 * * * *", 'minute "*/0" cannot be read'],
    ["a step without a range", "5/10 * * * *", 'minute "5/10" cannot be read'],
    ["a step longer than its field", "0 0 * * */8", 'day of week "*/8" cannot be read: it takes 0 to 7'],
    ["a step longer than its field", "0 0 * * */8", "and steps of 1 to 7 (*/2, 1-5/2)"],
    ["a range that goes backwards", "0 5-3 * * *", 'hour "5-3" cannot be read'],
    ["words", "every day at noon please", 'minute "every" cannot be read'],
    ["a question mark, which says when it was read", "0 0 ? * *", 'day of month "?" cannot be read'],
    ["a plus, for both days", "0 0 1 * +1", 'day of week "+1" cannot be read'],
    ["a space of another kind", "0\u00a00 * * * *", 'minute "0\u00a00" cannot be read'],
    ["a line break", "0\n0 * * * *", 'minute "0\\n0" cannot be read'],
    ["a nickname that is not one of the five", "@annually", '"@annually" is not one of @hourly, @daily, @weekly, @monthly, @yearly'],
    ["a nickname in capitals", "@Daily", '"@Daily" is not one of'],
    ["a nickname and more", "@every 5m", '"@every 5m" is not one of'],
    ["more than 256 characters", `${"0,".repeat(124)}0 * * * *`, "no longer than 256 characters"],
    ["what never fires", "30 2 30 2 *", '"30 2 30 2 *" never fires'],
    ["what never fires", "0 0 31 4 *", "never fires"],
    ["what never fires", "0 0 31W 2,4,6,9,11 *", "never fires"],
  ])("a cron expression is refused with what is wrong and where, %s: %j", (_, text, message) => {
    expect(() => readCron(text)).toThrow(CronError);
    expect(() => readCron(text)).toThrow(message);
  });

  test("a cron expression is refused with what is wrong and where: whatever the text, nothing but a CronError is thrown", () => {
    const piece = fc.constantFrom(
      "*",
      "?",
      "+",
      "@",
      "/",
      "-",
      ",",
      "#",
      "L",
      "W",
      "0",
      "5",
      "31",
      "60",
      "MON",
      "SUN",
      "JAN",
      " ",
      " ",
      "\n",
      "é",
    );
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(text, (cron) => {
        try {
          readCron(cron);
        } catch (error) {
          expect(error).toBeInstanceOf(CronError);
        }
      }),
    );
  });
});

/** Fields of every kind. Some combinations never match. */
const field = (low: number, high: number) => {
  const number = fc.integer({ min: low, max: high });
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: high });
  return fc.oneof(
    fc.constant("*"),
    number.map(String),
    fc.uniqueArray(number, { minLength: 2, maxLength: 4 }).map((all) => all.join(",")),
    range,
    fc.tuple(range, step).map(([of, by]) => `${of}/${by}`),
    step.map((by) => `*/${by}`),
  );
};
const day = fc.oneof(
  { weight: 3, arbitrary: field(1, 31) },
  { weight: 1, arbitrary: fc.constantFrom("L", "LW", "15W", "31", "30,31", "29", "1W,31W", "L,15") },
);
const weekday = fc.oneof(
  { weight: 3, arbitrary: field(0, 7) },
  { weight: 1, arbitrary: fc.constantFrom("*", "1#5", "5L", "0#1,3#2", "MON-FRI") },
);
const expression = fc
  .tuple(fc.option(field(0, 59), { nil: "" }), field(0, 59), field(0, 23), day, field(1, 12), weekday)
  .map((fields) => fields.join(" ").trim());

const tryRead = (text: string): Cron | null => {
  try {
    return readCron(text);
  } catch (error) {
    if (error instanceof CronError) return null;
    throw error;
  }
};

test("a cron expression matches backwards at the same times as forwards", () => {
  fc.assert(
    fc.property(expression, fc.integer({ min: 0, max: Date.UTC(2060, 0) }), (text, at) => {
      const cron = tryRead(text);
      const times: number[] = [];
      for (let time = cron?.after(at) ?? null; time !== null && times.length < 8; time = cron?.after(time) ?? null) times.push(time);
      const back: number[] = [];
      for (let time = cron?.upTo(times.at(-1) ?? at) ?? null; time !== null && time > at; time = cron?.upTo(time - 1_000) ?? null)
        back.push(time);
      expect(back.reverse()).toEqual(times);
    }),
    { numRuns: 1_000 },
  );
});
