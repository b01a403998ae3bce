import { describe, expect } from "vitest";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";

describe("a tick that finds the month's quota used up", () => {
  test("a tick that finds the month's quota used up is skipped and audited; once there is quota again, the next one runs", async ({
    service,
    at,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const made = await schedule(limited);
    await service.advance(60);
    await service.advance(60);
    expect(await ticksOf(limited, made)).toEqual(at("12:01"));
    expect(await scheduleOf(limited, made)).toMatchObject({
      ...{ next_run_at: at("12:03")[0], last_run_at: at("12:01")[0] },
      last_skip: { scheduled_for: at("12:02")[0], reason: "quota" },
    });
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toMatchObject([
      {
        ...{ actor_id: "system", resource_type: "schedule", resource_id: made.name, input: null },
        output: { reason: "quota", ticks: 1, first: at("12:02")[0], last: at("12:02")[0] },
      },
    ]);
    await setLimits(limited, { executions_per_month: 2 });
    await service.advance(60);
    expect(await ticksOf(limited, made)).toEqual(at("12:01", "12:03"));
  });

  test("a tick that finds the month's quota used up is audited at once when it is the first; those after it together, an hour later or when one runs again", async ({
    service,
    at,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 0 });
    const made = await schedule(limited);
    const told = async () =>
      (await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data
        .map(({ output }: { output: object }) => output)
        .reverse();
    const events = [{ reason: "quota", ticks: 1, first: at("12:01")[0], last: at("12:01")[0] }];
    for (let minute = 1; minute <= 60; minute += 1) await service.advance(60);
    expect(await told()).toEqual(events);
    await service.advance(60);
    events.push({ reason: "quota", ticks: 60, first: at("12:02")[0], last: at("13:01")[0] });
    expect(await told()).toEqual(events);
    await service.advance(60);
    await setLimits(limited, { executions_per_month: 1 });
    await service.advance(60);
    events.push({ reason: "quota", ticks: 1, first: at("13:02")[0], last: at("13:02")[0] });
    expect(await told()).toEqual(events);
    await service.advance(60);
    events.push({ reason: "quota", ticks: 1, first: at("13:04")[0], last: at("13:04")[0] });
    expect(await told()).toEqual(events);
    expect(await ticksOf(limited, made)).toEqual(at("13:03"));
  });

  test("a tick that finds the month's quota used up leaves its neighbours alone: as many run as there is quota, and all others are skipped", async ({
    service,
    at,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 7 });
    const free = await schedule(service);
    const made = [];
    for (let index = 0; index < 10; index += 1) made.push(await schedule(limited));
    await service.advance(60);
    const ran = await Promise.all(made.map((one) => ticksOf(limited, one)));
    expect(ran.flat()).toEqual(Array.from({ length: 7 }, () => at("12:01")[0]));
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toHaveLength(3);
    expect(await limited.ok("GET", "/v1/status")).toMatchObject({ quota: { used: 7, remaining: 0 } });
    expect(await ticksOf(service, free)).toEqual(at("12:01"));
  });

  test("ticks of a downtime that find the month's quota used up run as far as it goes, and the others are audited in one event", async ({
    service,
    at,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 });
    const made = await schedule(limited, { catch_up: "all" });
    await service.advance(600);
    expect(await ticksOf(limited, made)).toEqual(at("12:01", "12:02", "12:03"));
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toMatchObject([
      { output: { reason: "quota", ticks: 7, first: at("12:04")[0], last: at("12:10")[0] } },
    ]);
    expect(await scheduleOf(limited, made)).toMatchObject({
      ...{ last_run_at: at("12:03")[0], next_run_at: at("12:11")[0] },
      last_skip: { scheduled_for: at("12:10")[0], reason: "quota" },
    });
  });

  test("a tick that finds quota used up is refused nothing in a month that has begun anew", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const made = await schedule(limited, { cron: "0 0 * * *" });
    await service.moveTo(Date.UTC(2026, 10, 30));
    await service.moveTo(Date.UTC(2026, 11, 1));
    expect(await ticksOf(limited, made)).toEqual(["2026-11-30T00:00:00.000Z", "2026-12-01T00:00:00.000Z"]);
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toEqual([]);
  });
});
