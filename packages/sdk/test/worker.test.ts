import { JobAbortedError, NonRetryableError, RetryAfterError, Tidemill, Worker, type WorkerJob, type WorkerOptions } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import * as z from "zod";
import { test as base, type Service, until } from "../../server/test/harness/service.ts";

const quiet = () => {};
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** Starts workers that are stopped after the test. */
const test = base.extend("worker", async ({ service }, { onCleanup }) => {
  const started: Worker[] = [];
  onCleanup(async () => {
    await Promise.all(started.map((one) => one.stop()));
  });
  return (queues: NonNullable<WorkerOptions["queues"]>, options: Partial<WorkerOptions> = {}) => {
    const one = new Worker({ url: service.node.url, key: service.key, queues, signals: [], logger: SILENT, ...options });
    started.push(one);
    const done = one.run();
    done.catch(() => {});
    return Object.assign(one, { done });
  };
});

const untilState = (service: Service, queue: string, id: string, state: string) => service.untilState({ queue, id }, state);

describe("a worker", () => {
  test("runs jobs and stores their results", async ({ service, worker }) => {
    const queue = await service.queue();
    worker({ [queue]: async (job: WorkerJob<{ n: number }>) => ({ doubled: job.payload.n * 2, attempt: job.attempt, of: job.attempts }) });
    const { id } = await new Tidemill({ url: service.node.url, key: service.key }).queue(queue).enqueue({ n: 21 });
    await untilState(service, queue, id, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: { doubled: 42, attempt: 1, of: 3 } });
  });

  test("fails an attempt when the handler throws, and the job is tried again", async ({ service, worker }) => {
    const queue = await service.queue();
    const attempts: number[] = [];
    worker({
      [queue]: ({ attempt }: WorkerJob) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error("no connection");
      },
    });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "delayed");
    expect((await service.job({ queue, id })).last_error).toMatchObject({ code: "WORKER_FAILED", message: "Error: no connection" });
    await service.advance(60);
    await untilState(service, queue, id, "completed");
    expect(attempts).toEqual([1, 2]);
  });

  test("sends a job to the dead-letter queue for a NonRetryableError, and waits for a RetryAfterError", async ({ service, worker }) => {
    const queue = await service.queue();
    worker({
      [queue]: ({ payload }: WorkerJob) => {
        throw payload === "never" ? new NonRetryableError("bad card") : new RetryAfterError("busy", { seconds: 600 });
      },
    });
    const [never, later] = [await service.enqueue({ queue, payload: "never" }), await service.enqueue({ queue, payload: "later" })];
    await untilState(service, queue, never.id, "failed");
    await untilState(service, queue, later.id, "delayed");
    const { run_at } = await service.job({ queue, id: later.id });
    expect(Date.parse(run_at)).toBeGreaterThanOrEqual(service.clock.nowMs() + 600_000);
  });

  test("runs no more jobs at the same time than its concurrency, and all of them", async ({ service, worker }) => {
    const queue = await service.queue();
    const counts = { now: 0, most: 0, done: 0 };
    worker(
      {
        [queue]: async () => {
          counts.now += 1;
          counts.most = Math.max(counts.most, counts.now);
          await new Promise((resolve) => setTimeout(resolve, 1));
          counts.now -= 1;
          counts.done += 1;
        },
      },
      { concurrency: 5 },
    );
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 200 }, () => ({ payload: 1 })),
    );
    await until(async () => (await service.ok("GET", `/v1/queues/${queue}`)).metrics.completed === 200, "all jobs to be completed");
    expect(counts).toEqual({ now: 0, most: 5, done: 200 });
  });

  test("gives payloads to the handler as the schema parses them, and fails those that do not fit for good", async ({ service, worker }) => {
    const queue = await service.queue();
    const got: unknown[] = [];
    const schema = z.object({ to: z.string(), at: z.coerce.date() });
    worker({ [queue]: { schema, handler: ({ payload }) => void got.push(payload.at.getFullYear()) } });
    const fits = await service.enqueue({ queue, payload: { to: "ada", at: "2026-01-01T12:00:00Z" } });
    const misfit = await service.enqueue({ queue, payload: { to: 1 } });
    await untilState(service, queue, fits.id, "completed");
    await untilState(service, queue, misfit.id, "failed");
    expect(got).toEqual([2026]);
    expect((await service.job({ queue, id: misfit.id })).last_error.message).toContain("payload.to");
  });

  test("aborts the signal of a job that is cancelled", async ({ service, worker }) => {
    const queue = await service.queue();
    const aborted = Promise.withResolvers<unknown>();
    worker({
      [queue]: ({ signal }: WorkerJob) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve(aborted.resolve(signal.reason)))),
    });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "active");
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect(await aborted.promise).toMatchObject({ name: "JobAbortedError", why: "cancelled" });
    expect(await service.job({ queue, id })).toMatchObject({ state: "cancelled" });
  });

  test("aborts the signal of a job that is cancelled while the worker has no room for others", async ({ service, worker }) => {
    const queue = await service.queue();
    const aborted = Promise.withResolvers<unknown>();
    const handler = ({ signal }: WorkerJob) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(aborted.resolve(signal.reason))));
    worker({ [queue]: handler }, { concurrency: 1 });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "active");
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect(await aborted.promise).toMatchObject({ why: "cancelled" });
  });

  test("aborts the signal of a job whose lease is lost", async ({ service, worker }) => {
    const queue = await service.queue();
    const aborted = Promise.withResolvers<unknown>();
    const handler = ({ signal, attempt }: WorkerJob) =>
      attempt > 1 || new Promise((resolve) => signal.addEventListener("abort", () => resolve(aborted.resolve(signal.reason))));
    worker({ [queue]: handler }, { leaseSeconds: 3 });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "active");
    await service.advance(60);
    expect(await aborted.promise).toMatchObject({ why: "lease_lost" });
    await service.advance(60);
    await untilState(service, queue, id, "completed");
  });

  test("stops when its jobs have ended, and takes no more", async ({ service, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const one = worker(
      {
        [queue]: async () => {
          started.resolve();
          await goOn.promise;
        },
      },
      { concurrency: 1 },
    );
    const jobs = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    await started.promise;
    const stopped = one.stop();
    goOn.resolve();
    await stopped;
    await one.done;
    expect(await service.job({ queue, id: jobs[0].id })).toMatchObject({ state: "completed" });
    expect(await service.job({ queue, id: jobs[1].id })).toMatchObject({ state: "waiting", attempt: 0 });
  });

  test("gives back jobs that do not end when it stops, without using an attempt", async ({ service, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const handler = ({ signal }: WorkerJob) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        started.resolve();
      });
    const one = worker({ [queue]: handler }, { stopTimeoutMs: 10 });
    const { id } = await service.enqueue({ queue, attempts: 1 });
    await started.promise;
    await one.stop();
    expect(await service.job({ queue, id })).toMatchObject({ state: "waiting", last_error: null });
  });

  test("keeps a job whose result is too large as completed, without the result", async ({ service, worker }) => {
    const queue = await service.queue();
    worker({ [queue]: () => "x".repeat(70_000) });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: null });
  });

  test("rejects when the service refuses it: a queue that does not exist, a key that is wrong", async ({ service, worker }) => {
    const queue = await service.queue();
    await expect(worker({ [`${queue}x`]: quiet }).done).rejects.toMatchObject({ code: "NOT_FOUND", details: { suggestion: queue } });
    await expect(worker({ [queue]: quiet }, { key: "svc_ws_wrong" }).done).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });

  test("says which option is wrong", () => {
    const options = { url: "http://127.0.0.1:1", key: "svc_ws_a" };
    expect(() => new Worker({ ...options, queues: {} })).toThrow("queues must name a handler");
    expect(() => new Worker({ ...options, queues: { a: 1 as never } })).toThrow("queues.a must be a function");
    expect(() => new Worker({ ...options, queues: { a: quiet }, concurrency: 0 })).toThrow("concurrency must be a whole number");
    expect(new JobAbortedError("shutdown").message).toBe("The worker stops.");
  });
});
