import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

describe("a tick", () => {
  test("a tick makes a job of the schedule's settings, and a callback that says for when", async ({ service, at }) => {
    const handler = await service.handler();
    const settings = { queue: handler.queue, payload: { report: "daily" }, tag: "reports", priority: 7, concurrencyKey: "r", attempts: 5 };
    const made = await schedule(service, settings);
    await service.advance(60);
    await service.untilIdle();
    expect(handler.received.map(({ body }) => body)).toEqual([
      {
        id: expect.stringMatching(/^job_/),
        queue: handler.queue,
        attempt: 1,
        attempts: 5,
        tag: "reports",
        created_at: at("12:01")[0],
        schedule: made.name,
        scheduled_for: at("12:01")[0],
        payload: { report: "daily" },
      },
    ]);
    const id = handler.received[0]?.body.id ?? "";
    expect(await service.job({ id, queue: handler.queue })).toMatchObject({
      ...{ tag: "reports", priority: 7, concurrencyKey: "r", attempts: 5, payload: { report: "daily" } },
      ...{ schedule: made.name, scheduled_for: at("12:01")[0], run_at: at("12:01")[0], state: "completed" },
    });
    expect(await scheduleOf(service, made)).toMatchObject({
      next_run_at: at("12:02")[0],
      last_run_at: at("12:01")[0],
      last_job_id: id,
      last_skip: null,
    });
  });

  test("a tick takes what the queue has for its jobs where the schedule says nothing", async ({ service }) => {
    const queue = await service.queue({ defaultJobOptions: { attempts: 9, backoff: { delay: 5 } } });
    await schedule(service, { queue });
    await service.advance(60);
    const { data } = await service.ok("GET", `/v1/queues/${queue}/jobs`);
    expect(data).toMatchObject([{ attempts: 9, payload: null, tag: null, priority: 0, concurrencyKey: null, state: "waiting" }]);
  });

  test("a tick carries its moment to the last attempt", async ({ service, at }) => {
    const handler = await service.handler({ answers: [500, 500, 200] });
    const made = await schedule(service, { queue: handler.queue, cron: "1 12 * * *" });
    await service.advance(60);
    await service.untilIdle();
    expect(handler.received.map(({ body }) => body)).toMatchObject(
      [1, 2, 3].map((attempt) => ({ attempt, schedule: made.name, scheduled_for: at("12:01")[0] })),
    );
  });

  test("a tick keeps its moment through cancel and retry", async ({ service, at }) => {
    const queue = await service.queue();
    const made = await schedule(service, { queue });
    await service.advance(60);
    const { last_job_id: id } = await scheduleOf(service, made);
    const from = { schedule: made.name, scheduled_for: at("12:01")[0] };
    expect(await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`)).toMatchObject({ state: "cancelled", ...from });
    expect(await service.ok("POST", `/v1/queues/${queue}/jobs/${id}/retry`)).toMatchObject({ state: "waiting", ...from });
    expect(await service.job({ id, queue })).toMatchObject(from);
  });

  test("a tick waits in a paused queue", async ({ service, at }) => {
    const handler = await service.handler({ paused: true });
    const made = await schedule(service, { queue: handler.queue });
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
    expect((await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics).toMatchObject({ waiting: 1 });
  });

  test("a tick counts as an execution of a schedule", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 10 });
    await schedule(limited);
    await service.advance(60);
    await service.advance(60);
    expect((await limited.ok("GET", "/v1/usage")).executions).toEqual({
      ...{ total: 2, limit: 10, remaining: 8 },
      ...{ jobs: 0, schedules: 2, workflows: 0 },
    });
    expect(await limited.ok("GET", "/v1/status")).toMatchObject({ quota: { used: 2 }, schedules: 1 });
  });
});

describe("ticks", () => {
  test("ticks make one job each, one after the other", async ({ service, at }) => {
    const made = await schedule(service, { cron: "*/10 * * * * *" });
    for (let tick = 0; tick < 12; tick += 1) await service.advance(10);
    expect(await ticksOf(service, made)).toEqual(
      at(
        "12:00:10",
        "12:00:20",
        "12:00:30",
        "12:00:40",
        "12:00:50",
        "12:01:00",
        "12:01:10",
        "12:01:20",
        "12:01:30",
        "12:01:40",
        "12:01:50",
        "12:02:00",
      ),
    );
  });

  test("the ticks of many schedules, more than one transaction takes, make one job each", async ({ service }) => {
    const queue = await service.queue();
    const names: string[] = [];
    for (let calls = 0; calls < 9; calls += 1)
      names.push(...(await Promise.all(Array.from({ length: 50 }, async () => (await schedule(service, { queue })).name as string))));
    await service.advance(60);
    await service.advance(60);
    const found = await service.database.query<{ schedule: string; jobs: number }>(
      "select schedule, count(*)::int as jobs from job where schedule = any($1) group by schedule",
      [names],
    );
    expect(found).toHaveLength(450);
    expect(new Set(found.map(({ jobs }) => jobs))).toEqual(new Set([2]));
  });

  test("ticks with payloads of a megabyte are taken a few at a time", async ({ service, at }) => {
    const payload = "x".repeat(1_000_000);
    const made = await Promise.all([1, 2, 3, 4, 5, 6].map(() => schedule(service, { payload, catch_up: "all" })));
    await service.advance(180);
    for (const one of made) expect(await ticksOf(service, one)).toEqual(at("12:01", "12:02", "12:03"));
  });

  test("ticks are at the times of the schedule's own zone", async ({ service }) => {
    const made = await schedule(service, { cron: "0 0 29 2 *", timezone: "Asia/Kathmandu" });
    expect(made.next_run_at).toBe("2028-02-28T18:15:00.000Z");
  });

  test("ticks go on for the others when one cannot be read any more", async ({ service, at }) => {
    const [broken, made] = [await schedule(service), await schedule(service)];
    await service.database.query("update schedule set timezone = 'Mars/Olympus' where name = $1", [broken.name]);
    await service.advance(60);
    expect([await ticksOf(service, broken), await ticksOf(service, made)]).toEqual([[], at("12:01")]);
    expect(await scheduleOf(service, broken)).toMatchObject({
      ...{ state: "active", next_run_at: at("13:01")[0] },
      last_skip: { scheduled_for: at("12:01")[0], reason: "unreadable" },
    });
    await service.database.query("update schedule set timezone = 'UTC' where name = $1", [broken.name]);
    await service.advance(3_600);
    expect(await ticksOf(service, broken)).toEqual(at("13:01"));
  });

  test("ticks go to a node that nobody told of them", async ({ service }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    // There is no wake-up. The node finds it at a poll.
    await until(async () => (await ticksOf(service, made)).length === 1, "the tick to be found");
  });
});
