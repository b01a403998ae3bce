import { NonRetryableError, RetryAfterError, Tidemill, type WorkerJob, workflow } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import * as z from "zod";
import { type Service, until } from "../../server/test/harness/service.ts";
import { Log, test } from "./harness/worker.ts";

const quiet = () => {};

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
    const logger = new Log();
    const handler = ({ attempt }: WorkerJob) => {
      attempts.push(attempt);
      if (attempt === 1) throw new Error("no connection", { cause: new TypeError("no such host") });
    };
    worker({ [queue]: handler }, { logger, name: "mailer" });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "delayed");
    expect((await service.job({ queue, id })).last_error).toMatchObject({ code: "WORKER_FAILED", message: "Error: no connection" });
    await service.advance(60);
    await untilState(service, queue, id, "completed");
    expect(attempts).toEqual([1, 2]);
    const fields = { worker: "mailer", queue, job: id, attempt: 1, attempts: 3 };
    const error = expect.stringMatching(/^Error: no connection\n +at .*handler .*\nCaused by: TypeError: no such host\n +at /s);
    const line = { level: "warn", message: "An attempt of a job failed.", fields: { ...fields, error } };
    expect(logger.lines.filter(({ level }) => level === "warn")).toEqual([line]);
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

  test("of a high concurrency takes at most half of it in one call, and executes as many jobs as it may", async ({
    service,
    clients: { proxy },
    worker,
  }) => {
    const queue = await service.queue();
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 300 }, () => ({ payload: 1 })),
    );
    const counts = { now: 0, done: 0 };
    const isFull = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    worker(
      {
        [queue]: async () => {
          counts.now += 1;
          if (counts.now === 200) isFull.resolve();
          await goOn.promise;
          counts.done += 1;
        },
      },
      { concurrency: 200, url: proxy.url },
    );
    await isFull.promise;
    expect(counts).toEqual({ now: 200, done: 0 });
    goOn.resolve();
    await until(async () => (await service.ok("GET", `/v1/queues/${queue}`)).metrics.completed === 300, "all jobs to be completed");
    const limits = proxy.passed.flatMap(({ path, body }) => (path === "/v1/work" ? (JSON.parse(body).limit ?? []) : []));
    expect(Math.max(...limits)).toBe(100);
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

  test("starts no job in place of one whose handler goes on though it was cancelled", async ({ service, worker }) => {
    const queue = await service.queue();
    const aborted = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const seen: string[] = [];
    const handler = async ({ payload, signal }: WorkerJob<string>) => {
      seen.push(`${payload} begins`);
      signal.addEventListener("abort", () => aborted.resolve());
      if (payload === "first") await goOn.promise;
      seen.push(`${payload} ends`);
    };
    worker({ [queue]: handler }, { concurrency: 1 });
    const first = await service.enqueue({ queue, payload: "first" });
    await untilState(service, queue, first.id, "active");
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${first.id}`);
    await aborted.promise;
    const second = await service.enqueue({ queue, payload: "second" });
    for (let n = 0; n < 20; n += 1) expect(await service.job({ queue, id: second.id })).toMatchObject({ state: "waiting" });
    goOn.resolve();
    await untilState(service, queue, second.id, "completed");
    expect(seen).toEqual(["first begins", "first ends", "second begins", "second ends"]);
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

  test("releases jobs that do not end when it stops, without using an attempt", async ({ service, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const handler = ({ signal }: WorkerJob) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        started.resolve();
      });
    const one = worker({ [queue]: handler }, { stopTimeoutMs: 4_000 });
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

  test("releases a job whose handler does not end when the worker stops", async ({ service, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const one = worker({ [queue]: () => new Promise(() => started.resolve()) }, { stopTimeoutMs: 4_000 });
    const { id } = await service.enqueue({ queue, attempts: 1 });
    await started.promise;
    await one.stop();
    expect(await service.job({ queue, id })).toMatchObject({ state: "waiting", last_error: null });
  });

  test("reports every job, whatever its handler throws or returns", async ({ service, worker }) => {
    const queue = await service.queue();
    const throws = () => {
      throw new Error("Do not read this.");
    };
    const failures: Record<string, () => unknown> = {
      nul: () => new Error("a\0b"),
      textless: () => Object.create(null),
      never: () => new RetryAfterError("busy", { seconds: Number.NaN }),
      late: () => new RetryAfterError("busy", { seconds: 1e12 }),
      bigint: () => new RetryAfterError("busy", { seconds: 1n as never }),
      symbol: () => new RetryAfterError("busy", { seconds: Symbol("s") as never }),
      getter: () => Object.defineProperty(new RetryAfterError("busy", { seconds: 1 }), "seconds", { get: throws }),
      unreadable: () => new Proxy(new Error("no"), { get: throws, getPrototypeOf: throws }),
    };
    const results: Record<string, () => unknown> = {
      digits: () => 1n,
      map: () => ({ byId: new Map([[1, "Ada"]]) }),
      circle: () => {
        const circle: Record<string, unknown> = {};
        circle.self = circle;
        return circle;
      },
      textless: () => ({ toJSON: throws }),
      hidden: () => new Proxy({}, { ownKeys: throws }),
    };
    results.map = () => ({ byId: new Map([[1, "Ada"]]) });
    const deep = JSON.parse("[".repeat(70) + "]".repeat(70));
    worker({
      [queue]: ({ payload }: WorkerJob<string>) => {
        if (payload === "deep") return deep;
        const [kind, name = ""] = payload.split(" ");
        if (kind === "throws") throw failures[name]?.();
        return results[name]?.();
      },
    });
    const payloads = [...Object.keys(failures).map((name) => `throws ${name}`), ...Object.keys(results).map((name) => `returns ${name}`)];
    const failed = await Promise.all(
      payloads.map(async (payload) => (await service.enqueue({ queue, payload, attempts: 1 })).id as string),
    );
    const completed = await service.enqueue({ queue, payload: "deep" });
    for (const id of failed) await untilState(service, queue, id, "failed");
    await untilState(service, queue, completed.id, "completed");
    expect(await service.job({ queue, id: completed.id })).toMatchObject({ result: null, attempt: 1 });
    const jobOf = async (payload: string) =>
      (await service.job({ queue, id: failed[payloads.indexOf(payload)] as string })).last_error.message;
    expect(await jobOf("returns digits")).toContain("The handler's result has no JSON: it is a BigInt.");
    expect(await jobOf("returns map")).toContain("The handler's result has no JSON: byId is a Map, which would become {}.");
    expect(await jobOf("returns circle")).toContain("The handler's result has no JSON: self is a circular reference.");
    expect((await service.job({ queue, id: failed[0] as string })).last_error.message).toBe("Error: a\ufffdb");
  });

  test("stores a result as it was when the handler returned it", async ({ service, worker }) => {
    const queue = await service.queue();
    const result: { self?: unknown; n: number } = { n: 1 };
    const handler = () => {
      queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => Object.assign(result, { self: result }))));
      return result;
    };
    worker({ [queue]: handler });
    const { id } = await service.enqueue({ queue });
    await untilState(service, queue, id, "completed");
    expect(await service.job({ queue, id })).toMatchObject({ result: { n: 1 } });
  });

  test("reports outcomes that do not fit into one call", async ({ service, worker }) => {
    const queue = await service.queue();
    const all = Promise.withResolvers<void>();
    let started = 0;
    const handler = async () => {
      started += 1;
      if (started === 300) all.resolve();
      await all.promise;
      return "x".repeat(60_000);
    };
    worker({ [queue]: handler }, { concurrency: 300 });
    const jobs = Array.from({ length: 300 }, () => ({ payload: 1 }));
    await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, jobs);
    await until(async () => (await service.ok("GET", `/v1/queues/${queue}`)).metrics.completed === 300, "all jobs to be completed");
  });

  test("reports outcomes of a queue when another one is deleted", async ({ service, worker }) => {
    const [queue, other] = [await service.queue(), await service.queue()];
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const handler = async () => {
      started.resolve();
      await goOn.promise;
    };
    worker({ [queue]: handler, [other]: quiet }, { concurrency: 2 });
    const { id } = await service.enqueue({ queue });
    await started.promise;
    await service.ok("DELETE", `/v1/queues/${other}`);
    goOn.resolve();
    await untilState(service, queue, id, "completed");
  });

  test("extends the lease of a long job once a second at most, while many short ones end", async ({ service, worker }) => {
    const queue = await service.queue();
    const counts = { extends: 0, ended: 0 };
    const counting: typeof fetch = (input, init) => {
      if (String(input).endsWith("/extend")) counts.extends += 1;
      return fetch(input, init);
    };
    const long = Promise.withResolvers<void>();
    const handler = async ({ payload }: WorkerJob) => {
      if (payload === "long") return long.promise;
      await new Promise((resolve) => setTimeout(resolve, 1));
      counts.ended += 1;
      if (counts.ended % 100 === 0) await enqueueShort();
    };
    const enqueueShort = () =>
      service.ok(
        "POST",
        `/v1/queues/${queue}/jobs/batch`,
        Array.from({ length: 100 }, () => ({ payload: "short" })),
      );
    await service.enqueue({ queue, payload: "long" });
    await enqueueShort();
    const startedMs = performance.now();
    worker({ [queue]: handler }, { concurrency: 20, fetch: counting });
    await until(() => counts.extends >= 2, "two calls that extend leases");
    long.resolve();
    expect(performance.now() - startedMs).toBeGreaterThan(1_900);
  });

  const NONE = { jobs: [], runs: [], hooks: [], settled: [], cancelled: [] };
  test.for<object>([
    {},
    { ...NONE, jobs: [null] },
    { ...NONE, jobs: [{}] },
    { ...NONE, runs: ["run"] },
    { ...NONE, hooks: [[]] },
    { ...NONE, settled: [{}] },
    { ...NONE, cancelled: [1] },
    { ...NONE, waited_ms: "5" },
  ])("tries again when a proxy responds in place of the service: %j", async (body, { service, clients: { proxy }, worker }) => {
    const queue = await service.queue();
    const started = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const log = new Log();
    const handler = async () => {
      started.resolve();
      await goOn.promise;
    };
    const one = worker({ [queue]: handler }, { url: proxy.url, concurrency: 1, logger: log });
    const { id } = await service.enqueue({ queue });
    await started.promise;
    proxy.faults = [{ status: 200, body: JSON.stringify(body) }];
    goOn.resolve();
    await untilState(service, queue, id, "completed");
    expect(log.lines).toMatchObject([{ fields: { worker: one.name, code: "UNEXPECTED_RESPONSE" } }]);
  });

  test.for([
    ["the page of a proxy", { status: 200, body: "<html>Starting …</html>" }],
    ["a 404 of another service", { status: 404, body: "Not here." }],
  ] as const)(
    "tries again when %s comes in place of the first responses of the service",
    async ([, fault], { service, clients: { proxy }, worker }) => {
      const queue = await service.queue();
      const log = new Log();
      const run = workflow({ id: "onboard" }, () => null);
      proxy.faults = [fault, fault, null, fault, fault];
      worker({ [queue]: quiet }, { url: proxy.url, workflows: [run], logger: log });
      const { id } = await service.enqueue({ queue });
      await untilState(service, queue, id, "completed");
      const message = `Something other than Tidemill responds at ${proxy.url}. Check the address. The worker ends if this lasts for a minute.`;
      const error = expect.stringContaining(`status ${fault.status} with "${fault.body}"`);
      expect(log.lines).toMatchObject([1, 2].map(() => ({ level: "error", message, fields: { code: "UNEXPECTED_RESPONSE", error } })));
    },
  );

  test("rejects when the service refuses it: a queue that does not exist, a key that is wrong", async ({ service, worker }) => {
    const queue = await service.queue();
    await expect(worker({ [`${queue}x`]: quiet }).done).rejects.toMatchObject({ code: "NOT_FOUND", details: { suggestion: queue } });
    await expect(worker({ [queue]: quiet }, { key: "svc_ws_wrong" }).done).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });
});
