import { describe, expect } from "vitest";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";

describe("changing a schedule", () => {
  test("changing a schedule changes what is named and leaves the rest", async ({ service, at, clock }) => {
    const made = await schedule(service, {
      payload: { a: 1 },
      tag: "t",
      priority: 3,
      concurrencyKey: "k",
      attempts: 4,
      overlap: "skip",
      catch_up: "all",
    });
    const other = await service.queue();
    await clock.set(Date.parse(at("12:00:20")[0] as string));
    let expected = { ...made, updated_at: at("12:00:20")[0] };
    for (const change of [
      { queue: other },
      { payload: "x" },
      { tag: "u" },
      { priority: -100 },
      { concurrencyKey: "l" },
      { attempts: 1 },
      { overlap: "allow" },
      { catch_up: "none" },
      { tag: null, concurrencyKey: null, attempts: null },
      { cron: "0 14 * * *", timezone: "Europe/Berlin", next_run_at: at("13:00")[0] },
    ]) {
      const { next_run_at: _, ...body } = change as Record<string, unknown>;
      expected = { ...expected, ...change };
      expect(await service.ok("PATCH", `/v1/schedules/${made.name}`, body)).toEqual(expected);
      expect(await scheduleOf(service, made)).toEqual(expected);
    }
  });

  test("changing a schedule takes null for what a schedule need not have, and for nothing else", async ({ service, at: _ }) => {
    const made = await schedule(service);
    for (const name of ["queue", "cron", "timezone", "priority", "overlap", "catch_up"])
      expect([name, ...faultsOf(await service.api("PATCH", `/v1/schedules/${made.name}`, { [name]: null }), "VALIDATION_ERROR")]).toEqual([
        name,
      ]);
  });

  test("changing a schedule leaves the next run where it is, unless cron or time zone become others", async ({ service, at, clock }) => {
    const made = await schedule(service, { cron: "*/30 * * * *" });
    const path = `/v1/schedules/${made.name}`;
    const same = { cron: made.cron, timezone: made.timezone, tag: "t", queue: made.queue, payload: 1 };
    await service.database.query("update schedule set next_run_at = $1 where name = $2", [at("12:17")[0], made.name]);
    expect(await service.ok("PATCH", path, same)).toMatchObject({ next_run_at: at("12:17")[0] });
    await clock.set(Date.parse(at("12:10")[0] as string));
    expect(await service.ok("PATCH", path, { timezone: "Asia/Kathmandu" })).toMatchObject({ next_run_at: at("12:15")[0] });
    expect(await service.ok("PATCH", path, { cron: "*/5 * * * *" })).toMatchObject({ next_run_at: at("12:15")[0] });
  });

  test("changing a paused schedule's cron leaves it without a next run until it is resumed", async ({ service, at }) => {
    const made = await schedule(service);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *" })).toMatchObject({
      next_run_at: null,
      state: "paused",
    });
    expect(await service.ok("PATCH", `/v1/schedules/${made.name}/resume`)).toMatchObject({ next_run_at: at("12:05")[0] });
  });

  test("changing a schedule runs what was due by the settings that it had, and nothing twice", async ({ service, at, clock }) => {
    const [first, second] = [await service.handler(), await service.handler()];
    const made = await schedule(service, { queue: first.queue, payload: "old" });
    await clock.set(Date.parse(at("12:01:05")[0] as string));
    await service.ok("PATCH", `/v1/schedules/${made.name}`, { queue: second.queue, payload: "new", cron: "*/2 * * * *" });
    await service.advance(55);
    await service.untilIdle();
    expect(first.received.map(({ body }) => body)).toMatchObject([{ payload: "old", scheduled_for: at("12:01")[0] }]);
    expect(second.received.map(({ body }) => body)).toMatchObject([{ payload: "new", scheduled_for: at("12:02")[0] }]);
  });

  test("changing a schedule to another cron leaves nothing of a backlog to make up for", async ({ service, at, database }) => {
    const made = await schedule(service, { cron: "*/30 * * * *", catch_up: "last" });
    // The state after a clock was set back during a backlog.
    await database.query("update schedule set catch_up_to = $1", [at("13:00")[0]]);
    await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *" });
    await service.moveTo(Date.parse(at("12:50")[0] as string));
    expect(await ticksOf(service, made)).toEqual(at("12:50"));
  });

  test("changing a schedule runs all that a downtime left, however much, before it changes", async ({ service, at, clock }) => {
    const made = await schedule(service, { cron: "* * * * * *", catch_up: "all", payload: "x".repeat(20_000) });
    await clock.set(Date.parse(at("12:10")[0] as string));
    const patched = await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "0 13 * * *" });
    expect(patched).toMatchObject({ next_run_at: at("13:00")[0], last_run_at: at("12:10")[0] });
    const ticks = await ticksOf(service, made);
    expect([ticks.length, new Set(ticks).size]).toEqual([600, 600]);
  });

  test.for([
    [{ cron: "30 2 30 2 *" }, "cron"],
    [{ cron: "nope" }, "cron"],
    [{ timezone: "Mars/Olympus" }, "timezone"],
    [{ cron: "@daily", timezone: "Mars/Olympus" }, "timezone"],
  ] as const)("changing a schedule to %j is refused, and changes nothing", async ([change, path], { service, at: _, database }) => {
    const made = await schedule(service);
    const before = await everythingStored(database);
    const reply = await service.api("PATCH", `/v1/schedules/${made.name}`, change);
    expect([...faultsOf(reply, "VALIDATION_ERROR"), reply.body.error.details.issues]).toMatchObject([[{ path }]]);
    expect(await everythingStored(database)).toEqual(before);
  });

  test("changing a schedule's cron in a time zone that is gone is refused until the zone is changed", async ({ service, at, database }) => {
    const made = await schedule(service);
    await database.query("update schedule set timezone = 'Mars/Olympus'");
    const refused = await service.api("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *" });
    expect([...faultsOf(refused, "INVALID_STATE"), refused.body.error.details]).toEqual([
      { cron: "*/5 * * * *", timezone: "Mars/Olympus" },
    ]);
    const mended = await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *", timezone: "UTC" });
    expect(mended).toMatchObject({ cron: "*/5 * * * *", timezone: "UTC", next_run_at: at("12:05")[0] });
  });

  test("changing a schedule names the queue that does not exist, or the schedule that does not", async ({ service, at: _ }) => {
    const made = await schedule(service);
    const absent = await service.api("PATCH", `/v1/schedules/${made.name}`, { queue: "nowhere" });
    expect([...faultsOf(absent, "NOT_FOUND"), absent.body.error.message]).toEqual(['There is no queue "nowhere".']);
    expect(await scheduleOf(service, made)).toEqual(made);
    const missing = await service.api("PATCH", "/v1/schedules/absent", { tag: "t" });
    expect([...faultsOf(missing, "NOT_FOUND"), missing.body.error.message]).toEqual(['There is no schedule "absent".']);
  });

  test("changing a schedule needs something to change, and knows no other name", async ({ service, at: _ }) => {
    const made = await schedule(service);
    for (const body of [{}, { name: "other" }, { state: "paused" }])
      expect([body, ...faultsOf(await service.api("PATCH", `/v1/schedules/${made.name}`, body), "VALIDATION_ERROR")]).toEqual([body]);
  });
});
