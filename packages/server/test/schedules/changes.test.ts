import { describe, expect } from "vitest";
import { schedule, scheduleOf, testUnpolled as test, ticksOf } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

describe("a pause", () => {
  test("a pause skips its ticks; after it the schedule goes on", async ({ service, at }) => {
    const made = await schedule(service, { catch_up: "all" });
    await service.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.advance(600);
    expect(await scheduleOf(service, made)).toMatchObject({ state: "paused", next_run_at: null });
    await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
    expect(await scheduleOf(service, made)).toMatchObject({ state: "active", next_run_at: at("12:12")[0], last_skip: null });
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:12"));
  });

  test("a pause that comes between a tick and its firing does not take the tick with it", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
  });

  test("a pause leaves nothing of a backlog to make up for", async ({ service, at, database }) => {
    const made = await schedule(service, { catch_up: "last" });
    // The state after a clock was set back during a backlog.
    await database.query("update schedule set catch_up_to = $1", [at("13:00")[0]]);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
    await service.advance(1_800);
    expect(await ticksOf(service, made)).toEqual(at("12:30"));
  });

  test("a pause and a resume at once neither lose nor double the tick", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:02"));
  });
});

describe("a change of a schedule", () => {
  test("another cron holds from its change on; what was due before runs by the old one", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    const patched = await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *" });
    expect(patched).toMatchObject({ cron: "*/5 * * * *", next_run_at: at("12:05")[0], last_run_at: at("12:01")[0] });
    await service.advance(180);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:05"));
  });

  test("another time zone moves the next tick", async ({ service, at }) => {
    const made = await schedule(service, { cron: "30 14 * * *", timezone: "Europe/Berlin" });
    expect(made.next_run_at).toBe(at("13:30")[0]);
    const patched = await service.ok("PATCH", `/v1/schedules/${made.name}`, { timezone: "Asia/Kathmandu" });
    expect(Date.parse(patched.next_run_at) - Date.parse(made.next_run_at)).toBe((24 - 4.75) * 3_600_000);
    await service.moveTo(Date.parse(made.next_run_at));
    expect(await ticksOf(service, made)).toEqual([]);
    await service.moveTo(Date.parse(patched.next_run_at));
    expect(await ticksOf(service, made)).toEqual([patched.next_run_at]);
  });

  test("another payload and queue are those of the next tick's job", async ({ service }) => {
    const [first, second] = [await service.handler(), await service.handler()];
    const made = await schedule(service, { queue: first.queue, payload: 1 });
    await service.advance(60);
    await service.untilIdle();
    await service.ok("PATCH", `/v1/schedules/${made.name}`, { queue: second.queue, payload: 2 });
    await service.advance(60);
    await service.untilIdle();
    expect([first.payloads, second.payloads]).toEqual([[1], [2]]);
  });
});

test("a resumed schedule of a clock that ran ahead does not run a tick again", async ({ service, at }) => {
  const made = await schedule(service);
  await service.advance(120);
  await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
  // A standby takes over. Its clock is a minute and a half behind.
  await service.clock.advance(-90);
  await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
  for (const seconds of [30, 30, 30, 30, 30]) {
    await service.advance(seconds);
    await until(async () => (await scheduleOf(service, made)).next_run_at > new Date(service.clock.nowMs()).toISOString(), "ticks");
  }
  expect(await ticksOf(service, made)).toEqual(at("12:02", "12:03"));
});

test("what was due before a change runs whole, however much that is", async ({ service }) => {
  const made = await schedule(service, { cron: "* * * * * *", catch_up: "all", payload: "x".repeat(20_000) });
  await service.clock.advance(3_600);
  await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "0 0 1 1 *" });
  expect(await ticksOf(service, made)).toHaveLength(1_000);
});
