import { describe, expect } from "vitest";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { schedule, scheduleOf, test } from "../harness/schedules.ts";

describe("pause and resume", () => {
  test("pause and resume show the schedule, and a second time change nothing", async ({ service, at, clock, database }) => {
    const made = await schedule(service);
    const paused = { ...made, state: "paused", next_run_at: null, updated_at: at("12:00:10")[0] };
    await clock.advance(10);
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}/pause`)).toEqual(paused);
    await clock.advance(600);
    const before = await everythingStored(database);
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}/pause`, {})).toEqual(paused);
    expect(await everythingStored(database)).toEqual(before);
    const resumed = { ...paused, state: "active", next_run_at: at("12:11")[0], updated_at: at("12:10:10")[0] };
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}/resume`)).toEqual(resumed);
    await clock.advance(5);
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}/resume`, {})).toEqual(resumed);
    expect(await scheduleOf(service, made)).toEqual(resumed);
  });

  test("a resume in a time zone that is gone says what to change, and changes nothing", async ({ service, at, database }) => {
    const made = await schedule(service, { timezone: "Europe/Berlin" });
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await database.query("update schedule set timezone = 'Mars/Olympus'");
    const before = await everythingStored(database);
    const { status, body } = await service.api("PATCH", `/v1/schedules/${made.name}/resume`);
    expect([status, body.error]).toEqual([
      409,
      {
        code: "INVALID_STATE",
        message: 'PATCH the schedule\'s timezone: "Mars/Olympus" is not an IANA time zone like Europe/Berlin.',
        details: { cron: "* * * * *", timezone: "Mars/Olympus" },
      },
    ]);
    expect(await everythingStored(database)).toEqual(before);
    await service.ok("PATCH", `/v1/schedules/${made.name}`, { timezone: "Asia/Kathmandu" });
    const resumed = await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
    expect(resumed).toMatchObject({ state: "active", next_run_at: at("12:01")[0] });
  });

  test("pause and resume of a schedule that does not exist say so", async ({ service }) => {
    for (const [method, path] of [
      ["PATCH", "pause"],
      ["PATCH", "resume"],
      ["POST", "trigger"],
    ] as const)
      expect([path, ...faultsOf(await service.api(method, `/v1/schedules/absent/${path}`), "NOT_FOUND")]).toEqual([path]);
  });
});
