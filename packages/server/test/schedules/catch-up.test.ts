import { describe, expect } from "vitest";
import { schedule, scheduleOf, testUnpolled as test, ticksOf } from "../harness/schedules.ts";
import { startTestNode, until } from "../harness/service.ts";

describe("after a downtime of ten minutes and a half", () => {
  test("catch_up none runs nothing of a downtime of ten minutes and a half, and goes on", async ({ service, at }) => {
    const made = await schedule(service, { catch_up: "none" });
    await service.advance(630);
    expect(await ticksOf(service, made)).toEqual([]);
    expect(await scheduleOf(service, made)).toMatchObject({
      next_run_at: at("12:11")[0],
      last_run_at: null,
      last_skip: { scheduled_for: at("12:10")[0], reason: "catch_up" },
    });
    await service.advance(30);
    expect(await ticksOf(service, made)).toEqual(at("12:11"));
  });

  test("catch_up last runs the last tick of a downtime of ten minutes and a half, and goes on", async ({ service, at }) => {
    const made = await schedule(service, { catch_up: "last" });
    await service.advance(630);
    expect(await ticksOf(service, made)).toEqual(at("12:10"));
    expect(await scheduleOf(service, made)).toMatchObject({
      next_run_at: at("12:11")[0],
      last_run_at: at("12:10")[0],
      last_skip: { scheduled_for: at("12:09")[0], reason: "catch_up" },
    });
    await service.advance(30);
    expect(await ticksOf(service, made)).toEqual(at("12:10", "12:11"));
  });

  test("catch_up all runs each tick of a downtime of ten minutes and a half, in order, and goes on", async ({ service, at }) => {
    const made = await schedule(service, { catch_up: "all" });
    await service.advance(630);
    const missed = at("12:01", "12:02", "12:03", "12:04", "12:05", "12:06", "12:07", "12:08", "12:09", "12:10");
    expect(await ticksOf(service, made)).toEqual(missed);
    expect(await scheduleOf(service, made)).toMatchObject({ next_run_at: at("12:11")[0], last_skip: null });
    await service.advance(30);
    expect(await ticksOf(service, made)).toEqual([...missed, ...at("12:11")]);
  });

  test("catch_up last is what is done unless the schedule says otherwise", async ({ service, at }) => {
    const made = await schedule(service);
    expect(made.catch_up).toBe("last");
    await service.advance(630);
    expect(await ticksOf(service, made)).toEqual(at("12:10"));
  });

  test.for([
    ["none", []],
    ["last", ["12:10"]],
    ["all", ["12:01", "12:02", "12:03", "12:04", "12:05", "12:06", "12:07", "12:08", "12:09", "12:10"]],
  ] as const)("a node that starts anew catches up in the same way: %s", async ([catch_up, ticks], { service, at }) => {
    const made = await schedule(service, { catch_up });
    // The running node gets no wake-up.
    await service.clock.advance(630);
    const started = await startTestNode(service.database, service.clock);
    await until(async () => (await scheduleOf(service, made)).next_run_at === at("12:11")[0], "the new node to fire");
    await started.stop();
    expect(await ticksOf(service, made)).toEqual(at(...ticks));
  });
});

describe("ticks that are at most ten seconds late", () => {
  test.for(["none", "last", "all"])(
    "ticks that are at most ten seconds late all run, with catch_up %s",
    async (catch_up, { service, at }) => {
      const made = await schedule(service, { cron: "*/2 * * * * *", catch_up });
      await service.advance(12);
      expect(await ticksOf(service, made)).toEqual(at("12:00:02", "12:00:04", "12:00:06", "12:00:08", "12:00:10", "12:00:12"));
      expect(await scheduleOf(service, made)).toMatchObject({ last_skip: null });
    },
  );

  test("a tick that is ten seconds late is on time, and a second more is a downtime", async ({ service, at }) => {
    const made = await schedule(service, { cron: "*/2 * * * * *", catch_up: "last" });
    await service.advance(13);
    expect(await ticksOf(service, made)).toEqual(at("12:00:12"));
  });
});

test("catch_up all makes up for a thousand ticks at most, the newest", async ({ service, at }) => {
  const made = await schedule(service, { cron: "* * * * * *", catch_up: "all" });
  await service.advance(3_600);
  const ticks = await ticksOf(service, made);
  expect(ticks).toHaveLength(1_000);
  expect(new Set(ticks)).toHaveLength(1_000);
  expect([ticks[0], ticks.at(-1)]).toEqual(at("12:43:21", "13:00:00"));
  expect(await scheduleOf(service, made)).toMatchObject({
    next_run_at: at("13:00:01")[0],
    last_skip: { scheduled_for: at("12:43:20")[0], reason: "catch_up" },
  });
});

test("a year of missed seconds is caught up with at once", async ({ service }) => {
  const made = await schedule(service, { cron: "* * * * * *", catch_up: "last" });
  await service.advance(365 * 86_400);
  expect(await ticksOf(service, made)).toEqual([new Date(service.clock.nowMs()).toISOString()]);
});
