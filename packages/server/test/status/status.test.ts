import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { type Service, test, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const NONE = { waiting: 0, delayed: 0, pending_approval: 0, active: 0, completed: 0, failed: 0, cancelled: 0, rejected: 0 };

describe("a workspace's status", () => {
  test("the status of a workspace that has nothing is ok", async ({ service }) => {
    expect(await service.ok("GET", "/v1/status")).toEqual({
      status: "ok",
      workspace: { id: service.workspaceId, name: "Test", plan: "enterprise" },
      checks: [
        { name: "quota", status: "ok", message: expect.stringMatching(/\S/) },
        { name: "callbacks", status: "ok", message: expect.stringMatching(/\S/) },
        { name: "webhooks", status: "ok", message: expect.stringMatching(/\S/) },
        { name: "circuits", status: "ok", message: "No circuit is open." },
        { name: "workers", status: "ok", message: "No jobs or runs wait for a worker that is not there." },
        { name: "dead_letters", status: "ok", message: expect.stringMatching(/\S/) },
      ],
      jobs: NONE,
      runs: { pending: 0, running: 0, sleeping: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 },
      queues: 0,
      schedules: 0,
      quota: { used: 0, limit: null, remaining: null, resets_at: "2026-12-01T00:00:00.000Z" },
      rate_limit: null,
    });
  });

  test("a workspace's status counts its jobs in each state over all queues, its queues and schedules, and nobody else's", async ({
    service,
  }) => {
    const other = await limitedTo(service, {});
    await other.enqueue({ queue: await other.queue() });
    const handler = await service.handler({ defaultJobOptions: { attempts: 1 } });
    const hanging = await service.handler({ answers: "hang", callback_timeout: 900 });
    const idle = await service.queue();
    await service.enqueue({ queue: handler.queue });
    await service.enqueue({ queue: hanging.queue });
    await service.enqueue({ queue: idle });
    await service.enqueue({ queue: idle });
    await service.enqueue({ queue: idle, delay: 60 });
    const { id } = await service.enqueue({ queue: idle, delay: 60 });
    await service.ok("DELETE", `/v1/queues/${idle}/jobs/${id}`);
    for (let made = 0; made < 2; made += 1) await service.ok("POST", "/v1/schedules", { queue: idle, cron: "@yearly", timezone: "UTC" });
    await other.ok("POST", "/v1/schedules", { queue: "queue-1", cron: "@yearly", timezone: "UTC" });
    const status = () => service.ok("GET", "/v1/status");
    await until(async () => (await status()).jobs.completed === 1 && hanging.received.length === 1, "the jobs to be where they go");
    expect(await status()).toMatchObject({
      status: "ok",
      jobs: { ...NONE, waiting: 2, delayed: 1, active: 1, completed: 1, cancelled: 1 },
      queues: 3,
      schedules: 2,
      quota: { used: 6 },
    });
  });

  test("runs and hooks are no jobs, waiting, delayed or taken", async ({ service }) => {
    const { trigger, take, end, id, work } = await putWorkflow(service, { hooks: ["onSuccess"] });
    await service.enqueue({ queue: await service.queue() });
    for (let run = 0; run < 3; run += 1) await trigger();
    await trigger({ delay: 60 });
    const status = () => service.ok("GET", "/v1/status");
    expect(await status()).toMatchObject({ jobs: { ...NONE, waiting: 1 }, runs: { pending: 4 }, queues: 1 });
    const runs = [await take(), await take()];
    expect(await status()).toMatchObject({ jobs: { ...NONE, waiting: 1 }, runs: { pending: 2, running: 2 } });
    for (const run of runs) await end(run, { outcome: "completed" });
    expect((await work({ workflows: [id], limit: 10 })).hooks).toHaveLength(2);
    expect(await status()).toMatchObject({ jobs: { ...NONE, waiting: 1 }, runs: { completed: 2 } });
  });

  test("a workspace's status is degraded while jobs fail for good", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    await service.enqueue({ queue: handler.queue });
    await until(async () => (await service.ok("GET", "/v1/status")).jobs.failed === 1, "the job to fail");
    const { status, checks } = await service.ok("GET", "/v1/status");
    expect([status, checks.find(({ name }: { name: string }) => name === "dead_letters")]).toEqual([
      "degraded",
      { name: "dead_letters", status: "degraded", message: "Jobs that failed for good in the last minute: 1." },
    ]);
    await service.advance(61);
    expect(await service.ok("GET", "/v1/status")).toMatchObject({ status: "ok", jobs: { failed: 1 } });
  });

  test("a workspace's status is degraded when the quota is used up", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    expect(await limited.ok("GET", "/v1/status")).toMatchObject({ status: "ok", quota: { used: 0, limit: 1, remaining: 1 } });
    await limited.enqueue({ queue: await limited.queue() });
    const { status, quota, checks } = await limited.ok("GET", "/v1/status");
    expect([status, quota.remaining, checks[0]]).toEqual([
      "degraded",
      0,
      { name: "quota", status: "degraded", message: "1 of 1 executions are used." },
    ]);
  });
});

describe("the check of workers", () => {
  const check = async (service: Service) => {
    const { checks } = await service.ok("GET", "/v1/status");
    return checks.find(({ name }: { name: string }) => name === "workers");
  };
  const NONE_WAIT = { name: "workers", status: "ok", message: "No jobs or runs wait for a worker that is not there." };
  const poll = (service: Service, work: { queues?: string[]; lease?: number }) =>
    service.ok("POST", "/v1/work", { worker: "w", queues: [], workflows: [], limit: 1, wait: 0, ...work });

  test("names queues and workflows whose jobs and runs have waited for a minute without a worker", async ({ service }) => {
    const { id, trigger } = await putWorkflow(service, {});
    const queue = await service.queue();
    const [paused, handler] = [await service.queue({ paused: true }), await service.handler()];
    await trigger();
    for (const one of [queue, paused, handler.queue]) await service.enqueue({ queue: one });
    for (let job = 0; job < 8; job += 1) await service.enqueue({ queue });
    await service.enqueue({ queue, delay: 3_600 });
    await service.advance(59);
    expect(await check(service)).toEqual(NONE_WAIT);
    await service.advance(2);
    expect(await check(service)).toEqual({
      name: "workers",
      status: "degraded",
      message: `Jobs or runs wait, and no worker asks for them: ${[id, queue].sort().join(", ")}.`,
    });
  });

  test("names nothing within 90 seconds of a worker's last call", async ({ service }) => {
    const queue = await service.queue();
    await poll(service, { queues: [queue] });
    await service.enqueue({ queue });
    await service.advance(89);
    expect(await check(service)).toEqual(NONE_WAIT);
    await service.advance(2);
    expect(await check(service)).toMatchObject({ status: "degraded", message: expect.stringContaining(queue) });
  });

  test("names nothing while a worker holds a job, however long ago it called", async ({ service }) => {
    const queue = await service.queue();
    for (let job = 0; job < 2; job += 1) await service.enqueue({ queue });
    await poll(service, { queues: [queue], lease: 600 });
    await service.advance(500);
    expect(await check(service)).toEqual(NONE_WAIT);
    await service.advance(200);
    expect(await check(service)).toMatchObject({ status: "degraded" });
  });
});
