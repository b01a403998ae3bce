import { describe, expect } from "vitest";
import { test, until } from "../harness/service.ts";

describe("a queue's metrics", () => {
  const NOTHING = {
    waiting: 0,
    delayed: 0,
    pending_approval: 0,
    active: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    rejected: 0,
    oldest_waiting_seconds: null,
    completed_last_minute: 0,
    failed_last_minute: 0,
    latency_ms: { p50: null, p99: null },
  };

  test("a queue's metrics are all there from the start", async ({ service }) => {
    const name = await service.queue();
    expect((await service.ok("GET", `/v1/queues/${name}`)).metrics).toEqual(NOTHING);
  });

  test("a queue's metrics count the jobs of each state, and how long the oldest has waited", async ({ service }) => {
    const name = await service.queue();
    const jobs = `/v1/queues/${name}/jobs`;
    const { id } = await service.ok("POST", jobs, { payload: 1, priority: 5 });
    await service.ok("POST", jobs, { payload: 1 });
    await service.advance(90);
    await service.ok("POST", `${jobs}/batch`, [
      { payload: 1, priority: 9 },
      { payload: 1, delay: 5 },
    ]);
    await service.advance(1);
    const metrics = async () => (await service.ok("GET", `/v1/queues/${name}`)).metrics;
    expect(await metrics()).toEqual({ ...NOTHING, waiting: 3, delayed: 1, oldest_waiting_seconds: 91 });
    await service.ok("DELETE", `${jobs}/${id}`);
    expect(await metrics()).toEqual({ ...NOTHING, waiting: 2, delayed: 1, cancelled: 1, oldest_waiting_seconds: 91 });
    await service.ok("DELETE", `${jobs}/${id}`);
    expect(await metrics()).toEqual({ ...NOTHING, waiting: 2, delayed: 1, oldest_waiting_seconds: 91 });
  });

  test("a queue's metrics tell what finished in the last minute, and how long it took from being due", async ({ service }) => {
    const handler = await service.handler({ answers: "hang", defaultJobOptions: { attempts: 1 } });
    const metrics = async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics;
    const finish = async (seconds: number, status: number) => {
      const job = await service.enqueue({ queue: handler.queue });
      await until(() => handler.open === 1, "the callback to arrive");
      expect(await metrics()).toMatchObject({ active: 1, waiting: 0 });
      await service.advance(seconds);
      handler.release(status);
      await service.untilState({ id: job.id, queue: handler.queue }, status === 200 ? "completed" : "failed");
    };
    await finish(1, 200);
    await finish(3, 200);
    await finish(2, 500);
    expect(await metrics()).toEqual({
      ...NOTHING,
      completed: 2,
      failed: 1,
      completed_last_minute: 2,
      failed_last_minute: 1,
      latency_ms: { p50: 2_000, p99: 2_980 },
    });
    await service.advance(58);
    expect(await metrics()).toMatchObject({
      completed: 2,
      failed: 1,
      completed_last_minute: 0,
      failed_last_minute: 1,
      latency_ms: { p50: null, p99: null },
    });
    await service.advance(2);
    expect(await metrics()).toEqual({ ...NOTHING, completed: 2, failed: 1 });
    await service.ok("POST", `/v1/queues/${handler.queue}/retry-all`);
    await until(() => handler.open === 1, "the callback to arrive");
    expect(await metrics()).toMatchObject({ failed: 0, active: 1 });
  });
});
