import { describe, expect } from "vitest";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

describe("with overlap skip", () => {
  test("a tick makes no job while the one before is under way; the next one after it does", async ({ service, at }) => {
    const handler = await service.handler({ answers: "hang" });
    const made = await schedule(service, { queue: handler.queue, overlap: "skip" });
    await service.advance(60);
    await until(() => handler.open === 1, "the first job");
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
    expect(await scheduleOf(service, made)).toMatchObject({
      next_run_at: at("12:03")[0],
      last_run_at: at("12:01")[0],
      last_skip: { scheduled_for: at("12:02")[0], reason: "overlap" },
    });
    handler.answers = 200;
    handler.release();
    await service.untilIdle();
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:03"));
  });

  test.for([
    ["waits", {}, {}],
    ["is between attempts", { answers: 429 }, { defaultJobOptions: { attempts: 3, backoff: { delay: 3_600_000 } } }],
  ] as const)("a schedule's job that %s has not finished", async ([, answers, settings], { service, at }) => {
    const handler = "answers" in answers ? await service.handler({ ...answers, ...settings }) : null;
    const made = await schedule(service, { ...(handler && { queue: handler.queue }), overlap: "skip" });
    await service.advance(60);
    if (handler) await until(() => handler.received.length === 1, "the first attempt");
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
  });

  test("a job that waits for approval has not finished", async ({ service, at, database }) => {
    const made = await schedule(service, { overlap: "skip" });
    await database.query("update queue set type = 'approval' where id in (select id from lane where name = $1)", [made.queue]);
    await service.advance(120);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:02"));
    expect(await service.job({ id: (await scheduleOf(service, made)).last_job_id, queue: made.queue })).toMatchObject({
      state: "pending_approval",
    });
  });

  test("a job that failed for good, or was cancelled, has finished", async ({ service, at }) => {
    const handler = await service.handler({ answers: 410 });
    const made = await schedule(service, { queue: handler.queue, overlap: "skip" });
    await service.advance(60);
    await service.untilIdle();
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:02"));
    const { last_job_id: id } = await scheduleOf(service, made);
    await service.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${id}`);
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:02", "12:03"));
  });

  test("the first of the ticks of a downtime that catch_up chose runs with overlap skip", async ({ service, at }) => {
    const made = await schedule(service, { overlap: "skip", catch_up: "all" });
    await service.advance(600);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
    expect(await scheduleOf(service, made)).toMatchObject({ last_skip: { scheduled_for: at("12:10")[0], reason: "overlap" } });
  });

  test("another schedule's jobs of the same queue are none of its concern with overlap skip", async ({ service, at }) => {
    const queue = await service.queue();
    const [one, other] = [await schedule(service, { queue, overlap: "skip" }), await schedule(service, { queue, overlap: "skip" })];
    await service.advance(60);
    expect([await ticksOf(service, one), await ticksOf(service, other)]).toEqual([at("12:01"), at("12:01")]);
  });
});

test("every tick makes a job with overlap allow, whatever runs", async ({ service, at }) => {
  const handler = await service.handler({ answers: "hang" });
  const made = await schedule(service, { queue: handler.queue });
  for (let tick = 0; tick < 3; tick += 1) await service.advance(60);
  await until(() => handler.open === 3, "three jobs at once");
  expect(await ticksOf(service, made)).toEqual(at("12:01", "12:02", "12:03"));
  handler.release();
});
