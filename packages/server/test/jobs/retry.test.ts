import type { JobState } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { typeId } from "#kernel";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { type Service, until } from "../harness/service.ts";

const retry = (service: Service, job: { id: string; queue: string }) => service.api("POST", `/v1/queues/${job.queue}/jobs/${job.id}/retry`);
const outcomes = (record: { attempts_log: { attempt: number; outcome: string }[] }) =>
  record.attempts_log.map(({ attempt, outcome }) => [attempt, outcome]);

describe("a job that failed", () => {
  test("a job that failed waits again, and completes", async ({ service }) => {
    const handler = await service.handler({ answers: [500, 200] });
    const job = await service.enqueue({ queue: handler.queue, attempts: 1 });
    await service.untilState(job, "failed");
    const reply = await retry(service, job);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ id: job.id, queue: job.queue, state: "waiting", attempt: 1, finished_at: null });
    await service.untilState(job, "completed");
    expect(await service.job(job)).toMatchObject({ attempt: 2, last_error: { code: "HTTP_STATUS", status: 500 } });
  });

  test("a job that failed has a fresh set of attempts, that go on counting (I5)", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2 });
    await service.untilIdle();
    expect((await retry(service, job)).body).toMatchObject({ attempt: 2, attempts: 4 });
    await service.untilIdle();
    const record = await service.job(job);
    expect(record).toMatchObject({ state: "failed", attempt: 4, attempts: 4 });
    expect(outcomes(record)).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "failed"],
      [4, "failed"],
    ]);
    expect(handler.received.map(({ body }) => [body.attempt, body.attempts])).toEqual([
      [1, 2],
      [2, 2],
      [3, 4],
      [4, 4],
    ]);
    expect(handler.attempts).toEqual([1, 2, 3, 4]);
  });

  test("a job that failed backs off from the first wait again", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2, backoff: { delay: 8_000 } });
    await service.untilIdle();
    await retry(service, job);
    await service.untilState(job, "delayed");
    const { run_at } = await service.job(job);
    expect(Date.parse(run_at) - service.clock.nowMs()).toBeLessThanOrEqual(9_600);
  });

  test("a job that failed for good has a fresh set of attempts, too", async ({ service }) => {
    const handler = await service.handler({ answers: [410, 500, 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "failed");
    expect((await retry(service, job)).body).toMatchObject({ attempt: 1, attempts: 4 });
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "completed", attempt: 3 });
  });

  test("a job that failed can be retried again and again", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const job = await service.enqueue({ queue: handler.queue });
    for (const attempt of [1, 2, 3, 4]) {
      await service.untilState(job, "failed");
      expect(await service.job(job)).toMatchObject({ attempt });
      await retry(service, job);
    }
    await service.untilState(job, "failed");
    expect(handler.attempts).toEqual([1, 2, 3, 4, 5]);
  });

  test("a job that failed is due now, and leaves the dead-letter queue", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "failed");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    await service.advance(100);
    await retry(service, job);
    expect(await service.job(job)).toMatchObject({ state: "waiting", run_at: new Date(service.clock.nowMs()).toISOString() });
    expect((await service.ok("GET", "/v1/dlq")).data).toEqual([]);
  });
});

describe("a job that was cancelled", () => {
  test("a job that was cancelled before it started waits again as it was", async ({ service }) => {
    const queue = await service.queue();
    const job = await service.enqueue({ queue, payload: { n: 1 }, tag: "t", priority: 9, concurrencyKey: "k", attempts: 7, delay: 600 });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${job.id}`);
    const reply = await retry(service, job);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ ...job, state: "waiting", run_at: new Date(service.clock.nowMs()).toISOString() });
    expect((await service.ok("GET", `/v1/queues/${queue}/jobs`)).data).toHaveLength(1);
  });

  test("a job that was cancelled while it was active counts on after the cancelled attempt", async ({ service }) => {
    const handler = await service.handler({ answers: ["hang", 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
    expect((await retry(service, job)).body).toMatchObject({ state: "waiting", attempt: 1, attempts: 4 });
    await service.untilState(job, "completed");
    expect(outcomes(await service.job(job))).toEqual([
      [1, "cancelled"],
      [2, "completed"],
    ]);
  });

  test("a job that was cancelled is counted as cancelled no more", async ({ service }) => {
    const queue = await service.queue();
    const job = await service.enqueue({ queue });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${job.id}`);
    await retry(service, job);
    expect((await service.ok("GET", `/v1/queues/${queue}`)).metrics).toMatchObject({ cancelled: 0, waiting: 1 });
  });
});

test("a job that was rejected waits again", async ({ service, database }) => {
  const queue = await service.queue();
  const [id] = await putJobs(database, await laneOf(service, queue), { state: "rejected" });
  if (!id) throw new Error("No job was put.");
  const reply = await retry(service, { id: typeId("job", id), queue });
  expect([reply.status, reply.body.state]).toEqual([200, "waiting"]);
});

describe("a job in any other state cannot be retried: INVALID_STATE", () => {
  test.for<JobState>(["waiting", "delayed", "pending_approval", "completed"])(
    "a job in any other state cannot be retried: INVALID_STATE %s",
    async (state, { service, database }) => {
      const queue = await service.queue();
      const [id] = await putJobs(database, await laneOf(service, queue), { state, runAt: "moment() + interval '1 hour'" });
      if (!id) throw new Error("No job was put.");
      const reply = await retry(service, { id: typeId("job", id), queue });
      expect(reply.status).toBe(409);
      expect(reply.body.error).toMatchObject({
        code: "INVALID_STATE",
        message: `This is not possible in the state ${state}, only in failed, cancelled, rejected.`,
        details: { state, allowed_from: ["failed", "cancelled", "rejected"] },
      });
    },
  );

  test("a job that is active cannot be retried: INVALID_STATE", async ({ service }) => {
    const handler = await service.handler({ answers: "hang" });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    const reply = await retry(service, job);
    expect(reply.status).toBe(409);
    expect(reply.body.error).toMatchObject({
      code: "INVALID_STATE",
      details: { state: "active", allowed_from: ["failed", "cancelled", "rejected"] },
    });
  });
});

test("a job that does not exist cannot be retried: NOT_FOUND", async ({ service }) => {
  const job = await service.enqueue({ queue: await service.queue() });
  expect((await retry(service, { id: job.id, queue: await service.queue() })).status).toBe(404);
  expect((await retry(service, { id: "job_01h455vb4pex5vsknk084sn02q", queue: job.queue })).status).toBe(404);
  expect((await retry(service, { id: job.id, queue: "nowhere" })).status).toBe(404);
});

test("one of many retries at once succeeds", async ({ service }) => {
  const handler = await service.handler({ answers: [410, "hang"] });
  const job = await service.enqueue({ queue: handler.queue });
  await service.untilState(job, "failed");
  const replies = await Promise.all(Array.from({ length: 8 }, () => retry(service, job)));
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
  await until(() => handler.open === 1, "the one attempt");
  expect(handler.attempts).toEqual([1, 2]);
});
