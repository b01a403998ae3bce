import { describe, expect } from "vitest";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

describe("a pause", () => {
  test("skips its ticks; after it the schedule goes on", async ({ service, at }) => {
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

  test("that comes between a tick and its firing does not take the tick with it", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
  });

  test("and a resume at once neither lose nor double the tick", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    await service.ok("PATCH", `/v1/schedules/${made.name}/resume`);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:02"));
  });
});

describe("another", () => {
  test("cron holds from then on; what was due before runs by the old one", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    const patched = await service.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "*/5 * * * *" });
    expect(patched).toMatchObject({ cron: "*/5 * * * *", next_run_at: at("12:05")[0], last_run_at: at("12:01")[0] });
    await service.advance(180);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:05"));
  });

  test("time zone moves the next tick", async ({ service, at }) => {
    const made = await schedule(service, { cron: "30 14 * * *", timezone: "Europe/Berlin" });
    expect(made.next_run_at).toBe(at("13:30")[0]);
    const patched = await service.ok("PATCH", `/v1/schedules/${made.name}`, { timezone: "Asia/Kathmandu" });
    expect(Date.parse(patched.next_run_at) - Date.parse(made.next_run_at)).toBe((24 - 4.75) * 3_600_000);
    await service.moveTo(Date.parse(made.next_run_at));
    expect(await ticksOf(service, made)).toEqual([]);
    await service.moveTo(Date.parse(patched.next_run_at));
    expect(await ticksOf(service, made)).toEqual([patched.next_run_at]);
  });

  test("payload and queue are those of the next tick's job", async ({ service }) => {
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

describe("deleting", () => {
  test("a schedule ends its ticks and leaves its jobs", async ({ service, at }) => {
    const made = await schedule(service);
    await service.advance(60);
    expect((await service.api("DELETE", `/v1/schedules/${made.name}`)).status).toBe(204);
    await service.advance(120);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
  });

  test("one while it fires lets the tick make its job, or none", async ({ service, at }) => {
    const queue = await service.queue();
    const made = await Promise.all(Array.from({ length: 40 }, () => schedule(service, { queue })));
    await service.clock.advance(60);
    service.node.wake();
    const deleted = await Promise.all(made.map(({ name }) => service.api("DELETE", `/v1/schedules/${name}`)));
    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]));
    await service.advance(60);
    const ran = await Promise.all(made.map((one) => ticksOf(service, one)));
    for (const ticks of ran) expect([[], at("12:01")]).toContainEqual(ticks);
    // What a job was made for was taken from the usage, and nothing else.
    expect((await service.ok("GET", "/v1/usage")).executions.schedules).toBe(ran.flat().length);
  });

  test("and making one anew under the name fires the new one's ticks alone", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    await service.ok("DELETE", `/v1/schedules/${made.name}`).catch(() => {});
    await schedule(service, { name: made.name });
    await service.advance(60);
    const ticks = await ticksOf(service, made);
    expect([at("12:02"), at("12:01", "12:02")]).toContainEqual(ticks);
  });

  test("the queue ends its schedules, while they fire too", async ({ service }) => {
    const queue = await service.queue();
    const made = await Promise.all(Array.from({ length: 40 }, () => schedule(service, { queue })));
    await service.clock.advance(60);
    service.node.wake();
    expect((await service.api("DELETE", `/v1/queues/${queue}`)).status).toBe(204);
    for (const { name } of made) expect((await service.api("GET", `/v1/schedules/${name}`)).status).toBe(404);
    await service.advance(120);
    expect(await service.database.query("select from schedule_tick where tick_at >= moment() - interval '90 seconds'")).toEqual([]);
  });
});

test("a resumed schedule of a clock that ran ahead does not run a tick again", async ({ service, at }) => {
  const made = await schedule(service);
  await service.advance(120);
  await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
  // A standby takes over whose clock is a minute and a half behind.
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
