import { describe, expect } from "vitest";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

const preview = (service: Service, query: Record<string, string>) =>
  service.api("GET", `/v1/schedules/preview?${new URLSearchParams(query)}`);
const runsOf = async (service: Service, query: Record<string, string>): Promise<[string, string][]> =>
  (await preview(service, query)).body.runs.map(({ run_at, local }: { run_at: string; local: string }) => [run_at, local]);

describe("a preview", () => {
  test("a preview shows the next five runs after now, in UTC and by the clocks of the zone", async ({ service }) => {
    const { status, body } = await preview(service, { cron: "30 2 * * *", timezone: "Europe/Berlin" });
    expect([status, body]).toEqual([
      200,
      {
        cron: "30 2 * * *",
        timezone: "Europe/Berlin",
        runs: [22, 23, 24, 25, 26].map((day) => ({ run_at: `2026-11-${day}T01:30:00.000Z`, local: `2026-11-${day}T02:30:00+01:00` })),
      },
    ]);
  });

  test("a preview shows as many as are asked for", async ({ service }) => {
    for (const count of ["1", "7", "100"])
      expect(await runsOf(service, { cron: "* * * * * *", timezone: "UTC", count })).toHaveLength(Number(count));
  });

  test("a preview begins at another moment", async ({ service }) => {
    expect(await runsOf(service, { cron: "30 2 * * *", timezone: "Europe/Berlin", from: "2027-03-27T12:00:00Z", count: "2" })).toEqual([
      ["2027-03-28T01:00:00.000Z", "2027-03-28T03:00:00+02:00"],
      ["2027-03-29T00:30:00.000Z", "2027-03-29T02:30:00+02:00"],
    ]);
    expect((await preview(service, { cron: "@daily", timezone: "UTC", from: "tomorrow" })).status).toBe(400);
  });

  test("a preview counts the ticks of days, also of those on which clocks change", async ({ service }) => {
    const daysOf = async (cron: string, from: string, days: string): Promise<[string, number, string, string][]> => {
      const { body } = await preview(service, { cron, timezone: "Europe/Berlin", from, days, count: "1" });
      return body.days.map((of: Record<string, never>) => [of.day, of.runs, of.first_at, of.last_at]);
    };
    const counts = async (cron: string, from: string) => (await daysOf(cron, from, "3")).map(([, runs]) => runs);
    const [march, october] = ["2027-03-27T12:00:00Z", "2027-10-30T12:00:00Z"];
    expect(await daysOf("* * * * *", march, "2")).toEqual([
      ["2027-03-27", 1_440, "2027-03-26T23:00:00.000Z", "2027-03-27T22:59:00.000Z"],
      ["2027-03-28", 1_380, "2027-03-27T23:00:00.000Z", "2027-03-28T21:59:00.000Z"],
    ]);
    expect(await counts("* * * * *", october)).toEqual([1_440, 1_500, 1_440]);
    expect(await counts("* * * * * *", october)).toEqual([86_400, 90_000, 86_400]);
    expect([await counts("30 2 * * *", march), await counts("30 2 * * *", october)]).toEqual([
      [1, 1, 1],
      [1, 1, 1],
    ]);
    // In the gap, 02:00, 02:20 and 02:40 are one tick, at the same moment as 03:00.
    expect([await counts("*/20 1-3 * * *", march), await counts("*/20 1-3 * * *", october)]).toEqual([
      [9, 6, 9],
      [9, 9, 9],
    ]);
    expect(await daysOf("0 12 1 * *", march, "1")).toEqual([["2027-03-27", 0, null, null]]);
    expect((await preview(service, { cron: "@daily", timezone: "UTC", days: "43" })).status).toBe(400);
  });

  test("a preview says how far the zone is from UTC at each run", async ({ service }) => {
    expect(await runsOf(service, { cron: "0 12 1 */6 *", timezone: "America/St_Johns", count: "2" })).toEqual([
      ["2027-01-01T15:30:00.000Z", "2027-01-01T12:00:00-03:30"],
      ["2027-07-01T14:30:00.000Z", "2027-07-01T12:00:00-02:30"],
    ]);
    expect(await runsOf(service, { cron: "@monthly", timezone: "Asia/Kathmandu", count: "1" })).toEqual([
      ["2026-11-30T18:15:00.000Z", "2026-12-01T00:00:00+05:45"],
    ]);
    expect(await runsOf(service, { cron: "@yearly", timezone: "UTC", count: "1" })).toEqual([
      ["2027-01-01T00:00:00.000Z", "2027-01-01T00:00:00+00:00"],
    ]);
  });

  test("a preview shows a time that does not exist at the first moment after the gap", async ({ service }) => {
    expect(await runsOf(service, { cron: "30 2 28 3 *", timezone: "Europe/Berlin", count: "1" })).toEqual([
      ["2027-03-28T01:00:00.000Z", "2027-03-28T03:00:00+02:00"],
    ]);
  });

  test("a preview is what a schedule with the same settings has next", async ({ service }) => {
    const wanted = { cron: "0 */7 L * MON", timezone: "Australia/Lord_Howe" };
    const made = await service.ok("POST", "/v1/schedules", { queue: await service.queue(), ...wanted });
    expect((await runsOf(service, wanted))[0]?.[0]).toBe(made.next_run_at);
  });

  test.for([
    [{ cron: "30 2 30 2 *", timezone: "UTC" }, "cron", "never fires"],
    [{ cron: "* * * *", timezone: "UTC" }, "cron", "4 fields"],
    [{ cron: "@daily", timezone: "Mars/Olympus" }, "timezone", "IANA"],
    [{ cron: "@daily", timezone: "UTC", count: "0" }, "count", "at least 1"],
    [{ cron: "@daily", timezone: "UTC", count: "101" }, "count", "at most 100"],
    [{ cron: "@daily" }, "timezone", "is required"],
    [{ timezone: "UTC" }, "cron", "is required"],
    [{ cron: "@daily", timezone: "UTC", next: "3" }, "next", "is not a known field"],
  ] as [Record<string, string>, string, string][])(
    "a preview of %j is refused with what is wrong",
    async ([query, path, says], { service }) => {
      const reply = await preview(service, query);
      expect([...faultsOf(reply, "VALIDATION_ERROR"), reply.body.error.details.issues]).toEqual([
        expect.arrayContaining([{ path, message: expect.stringContaining(says) }]),
      ]);
    },
  );

  test("a preview stores nothing", async ({ service, database }) => {
    const before = await everythingStored(database);
    await preview(service, { cron: "@daily", timezone: "UTC" });
    expect(await everythingStored(database)).toEqual(before);
  });
});
