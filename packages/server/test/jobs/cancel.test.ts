import type { JobState } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { typeId } from "#kernel";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { type Service, until } from "../harness/service.ts";

const remove = (service: Service, job: { id: string; queue: string }) => service.api("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);

async function expectCancelled(service: Service, job: { id: string; queue: string }, attempt: number): Promise<void> {
  const reply = await remove(service, job);
  expect(reply.status).toBe(200);
  const finished_at = new Date(service.clock.nowMs()).toISOString();
  expect(reply.body).toMatchObject({ id: job.id, queue: job.queue, state: "cancelled", attempt, result: null, finished_at });
  const { attempts_log: _, ...record } = await service.job(job);
  expect(record).toEqual(reply.body);
}

describe("DELETE of a job that has not finished cancels it: 200 with the job", () => {
  test("DELETE cancels a job that waits: 200 with the job", async ({ service }) => {
    const handler = await service.handler({ paused: true });
    const job = await service.enqueue({ queue: handler.queue, payload: { n: 1 }, tag: "t", priority: 3 });
    await expectCancelled(service, job, 0);
    expect(await service.job(job)).toMatchObject({
      payload: { n: 1 },
      tag: "t",
      priority: 3,
      started_at: null,
      last_error: null,
      attempts_log: [],
    });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await service.untilState(await service.enqueue({ queue: handler.queue, payload: "witness" }), "completed");
    expect(handler.payloads).toEqual(["witness"]);
  });

  test("DELETE cancels a job that is delayed before its first attempt: 200 with the job", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, delay: 60 });
    const witness = await service.enqueue({ queue: handler.queue, payload: "witness", delay: 60 });
    await expectCancelled(service, job, 0);
    await service.advance(60);
    await service.untilState(witness, "completed");
    expect(handler.payloads).toEqual(["witness"]);
  });

  test("DELETE cancels a job that is delayed between two attempts: 200 with the job", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    await expectCancelled(service, job, 1);
    await service.untilIdle();
    expect(handler.attempts).toEqual([1]);
    expect(await service.job(job)).toMatchObject({
      state: "cancelled",
      last_error: { code: "HTTP_STATUS", status: 500 },
      attempts_log: [{ attempt: 1, outcome: "failed" }],
    });
  });

  test("DELETE cancels a job that is held for approval: 200 with the job", async ({ service, database }) => {
    const queue = await service.queue();
    const [id] = await putJobs(database, await laneOf(service, queue), { state: "pending_approval" });
    if (id) await expectCancelled(service, { id: typeId("job", id), queue }, 0);
  });

  test("DELETE of an active job aborts the attempt at the handler and logs it", async ({ service }) => {
    const handler = await service.handler({ answers: "hang" });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    await expectCancelled(service, job, 1);
    await until(() => handler.aborted === 1, "the request to be broken off");
    expect((await service.job(job)).attempts_log).toEqual([
      {
        attempt: 1,
        started_at: expect.any(String),
        duration_ms: expect.any(Number),
        outcome: "cancelled",
        status: null,
        error: null,
        worker: null,
      },
    ]);
  });

  test("DELETE of an active job logs how long the attempt took, also when that is more than a minute", async ({ service }) => {
    const handler = await service.handler({ answers: "hang" });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    await service.advance(3_725.5);
    await expectCancelled(service, job, 1);
    expect((await service.job(job)).attempts_log).toMatchObject([{ outcome: "cancelled", duration_ms: 3_725_500 }]);
  });

  test("DELETE of an active job makes an answer that comes all the same count no longer", async ({ service }) => {
    const answered = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const handler = await service.handler({
      answers: async () => {
        answered.resolve();
        await cancelled.promise;
        return { status: 200, headers: { "content-type": "application/json" }, body: "true" };
      },
    });
    const job = await service.enqueue({ queue: handler.queue });
    await answered.promise;
    await expectCancelled(service, job, 1);
    cancelled.resolve();
    handler.answers = 200;
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    expect(await service.job(job)).toMatchObject({ state: "cancelled", result: null });
  });

  test("DELETE of an active job lets the queue go on with its other jobs", async ({ service }) => {
    const handler = await service.handler({ answers: ["hang", 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    await remove(service, job);
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
  });
});

describe("DELETE of a finished job removes it: 204", () => {
  test.for<JobState>(["completed", "failed", "cancelled", "rejected"])(
    "DELETE of a finished job removes it: 204 %s",
    async (state, { service, database }) => {
      const queue = await service.queue();
      const [id, kept] = await putJobs(database, await laneOf(service, queue), { state, count: 2 });
      if (!id || !kept) throw new Error("No job was put.");
      const job = { id: typeId("job", id), queue };
      expect((await service.job(job)).state).toBe(state);
      const reply = await remove(service, job);
      expect(reply.status).toBe(204);
      expect(reply.text).toBe("");
      expect((await service.api("GET", `/v1/queues/${queue}/jobs/${job.id}`)).status).toBe(404);
      expect((await remove(service, job)).status).toBe(404);
      expect((await service.ok("GET", `/v1/queues/${queue}/jobs`)).data.map((one: { id: string }) => one.id)).toEqual([
        typeId("job", kept),
      ]);
    },
  );

  test("DELETE of a job that was just cancelled removes it", async ({ service }) => {
    const job = await service.enqueue({ queue: await service.queue() });
    expect([(await remove(service, job)).status, (await remove(service, job)).status, (await remove(service, job)).status]).toEqual([
      200, 204, 404,
    ]);
  });

  test("DELETE of a finished job takes it out of its queue's metrics", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "completed");
    const metrics = async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics;
    expect(await metrics()).toMatchObject({ completed: 1 });
    await remove(service, job);
    expect(await metrics()).toMatchObject({ completed: 0 });
  });
});

describe("DELETE answers 404", () => {
  test.for<[string, (queue: string, id: string, other: string) => string]>([
    ["of a job that never was", (queue) => `/v1/queues/${queue}/jobs/job_01h455vb4pex5vsknk084sn02q`],
    ["of a job of another queue", (_, id, other) => `/v1/queues/${other}/jobs/${id}`],
    ["in a queue that never was", (_, id) => `/v1/queues/nowhere/jobs/${id}`],
  ])("DELETE answers 404 %s", async ([, path], { service }) => {
    const job = await service.enqueue({ queue: await service.queue() });
    const reply = await service.api("DELETE", path(job.queue, job.id, await service.queue()));
    expect(reply.status).toBe(404);
    expect(reply.body.error.code).toBe("NOT_FOUND");
    expect((await service.job(job)).state).toBe("waiting");
  });
});
