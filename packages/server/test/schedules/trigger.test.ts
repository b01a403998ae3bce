import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { schedule, scheduleOf, test, ticksOf } from "../harness/schedules.ts";
import type { Service } from "../harness/service.ts";

const trigger = (service: Service, { name }: { name: string }) => service.api("POST", `/v1/schedules/${name}/trigger`);

describe("triggering a schedule", () => {
  test("triggering a schedule makes its job now, answers it as enqueue does, and leaves the next run", async ({ service, at, clock }) => {
    const handler = await service.handler();
    const settings = { queue: handler.queue, payload: { report: 1 }, tag: "t", priority: 5, concurrencyKey: "k", attempts: 7 };
    const made = await schedule(service, settings);
    await clock.set(Date.parse(at("12:00:20.250".slice(0, 8))[0] as string) + 250);
    const now = at("12:00:20")[0]?.replace(".000Z", ".250Z");
    const { status, body } = await trigger(service, made);
    expect([status, body]).toEqual([
      201,
      {
        ...{ id: expect.stringMatching(/^job_/), queue: handler.queue, state: "waiting", payload: { report: 1 }, tag: "t", priority: 5 },
        ...{ concurrencyKey: "k", idempotencyKey: null, attempt: 0, attempts: 7, run_at: now, created_at: now, started_at: null },
        ...{ finished_at: null, result: null, schedule: made.name, scheduled_for: now, approval: null, last_error: null },
      },
    ]);
    expect(await scheduleOf(service, made)).toEqual({ ...made, last_run_at: now, last_job_id: body.id });
    await service.untilIdle();
    expect(handler.received.map((one) => one.body)).toMatchObject([{ id: body.id, schedule: made.name, scheduled_for: now }]);
  });

  test("triggering a schedule works while it is paused, and leaves it so", async ({ service, at }) => {
    const made = await schedule(service);
    await service.ok("PATCH", `/v1/schedules/${made.name}/pause`);
    expect((await trigger(service, made)).status).toBe(201);
    expect(await scheduleOf(service, made)).toMatchObject({ state: "paused", next_run_at: null, last_run_at: at("12:00")[0] });
  });

  test("triggering a schedule makes a job though one is under way, with overlap skip too", async ({ service, at: _ }) => {
    const made = await schedule(service, { overlap: "skip" });
    expect([(await trigger(service, made)).status, (await trigger(service, made)).status]).toEqual([201, 201]);
    expect(await ticksOf(service, made)).toHaveLength(2);
  });

  test("triggering a schedule runs what was due first", async ({ service, at, clock }) => {
    const made = await schedule(service);
    await clock.set(Date.parse(at("12:01:05")[0] as string));
    const { body } = await trigger(service, made);
    expect(await ticksOf(service, made)).toEqual(at("12:01", "12:01:05"));
    expect(await scheduleOf(service, made)).toMatchObject({
      last_job_id: body.id,
      last_run_at: at("12:01:05")[0],
      next_run_at: at("12:02")[0],
    });
  });

  test("triggering a schedule holds its job in an approval queue", async ({ service, at: _, database }) => {
    const made = await schedule(service);
    await database.query("update queue set type = 'approval' where id in (select id from lane where name = $1)", [made.queue]);
    expect((await trigger(service, made)).body).toMatchObject({ state: "pending_approval" });
  });

  test("triggering a schedule takes an execution, which counts as a schedule's", async ({ service, at: _ }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 });
    const made = await schedule(limited);
    await trigger(limited, made);
    await limited.enqueue({ queue: made.queue });
    expect((await limited.ok("GET", "/v1/usage")).executions).toMatchObject({ total: 2, remaining: 1, jobs: 1, schedules: 1 });
    expect((await limited.ok("GET", "/v1/usage")).by_queue).toMatchObject([{ queue: made.queue, executions: 2 }]);
  });

  test("triggering a schedule is refused when the month's executions are used up, and changes nothing", async ({
    service,
    at: _,
    database,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const made = await schedule(limited);
    await limited.enqueue({ queue: made.queue });
    const before = await everythingStored(database);
    const reply = await trigger(limited, made);
    expect([...faultsOf(reply, "QUOTA_EXCEEDED"), reply.body.error.details]).toEqual([
      { used: 1, limit: 1, plan: "team", resets_at: "2026-12-01T00:00:00.000Z" },
    ]);
    expect(await everythingStored(database)).toEqual(before);
  });

  test("triggering a schedule from 16 callers at once makes as many jobs as there are executions", async ({ service, at: _ }) => {
    const limited = await limitedTo(service, { executions_per_month: 5 });
    const made = await schedule(limited);
    const replies = await Promise.all(Array.from({ length: 16 }, () => trigger(limited, made)));
    const count = (status: number) => replies.filter((one) => one.status === status).length;
    expect([count(201), count(402), (await ticksOf(limited, made)).length]).toEqual([5, 11, 5]);
  });
});
