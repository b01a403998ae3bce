import { describe, expect } from "vitest";
import { type Service, test, until } from "../harness/service.ts";

const batch = (service: Service, queue: string, body: unknown) => service.api("POST", `/v1/queues/${queue}/jobs/batch`, body);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ payload: index }));
const countOf = async (service: Service, queue: string): Promise<number> =>
  (await service.ok("GET", `/v1/queues/${queue}`)).metrics.waiting;

describe("a batch", () => {
  test.for<[string, unknown]>([
    ["under jobs", { jobs: numbered(3) }],
    ["as the bare list", numbered(3)],
  ])("a batch %s answers 201 with its jobs in the order sent", async ([, body], { service }) => {
    const queue = await service.queue();
    const reply = await batch(service, queue, body);
    expect(reply.status).toBe(201);
    expect(Object.keys(reply.body)).toEqual(["jobs"]);
    expect(reply.body.jobs.map(({ payload }: { payload: unknown }) => payload)).toEqual([0, 1, 2]);
    expect(reply.body.jobs[1]).toEqual(
      expect.objectContaining({ queue, state: "waiting", attempt: 0, attempts: 3, priority: 0, tag: null }),
    );
    expect(await countOf(service, queue)).toBe(3);
  });

  test.for([1, 500, 501, 1_000])("a batch of %i jobs is taken whole", async (count, { service }) => {
    const queue = await service.queue();
    const { status, body } = await batch(service, queue, { jobs: numbered(count) });
    expect(status).toBe(201);
    expect(body.jobs.map(({ payload }: { payload: unknown }) => payload)).toEqual(numbered(count).map(({ payload }) => payload));
    expect(new Set(body.jobs.map(({ id }: { id: string }) => id)).size).toBe(count);
    expect(await countOf(service, queue)).toBe(count);
  });

  test("a batch gives each job its own options", async ({ service }) => {
    const queue = await service.queue({ defaultJobOptions: { attempts: 5 } });
    const later = new Date(service.clock.nowMs() + 60_000).toISOString();
    const { body } = await batch(service, queue, [
      { payload: { n: 1 }, tag: "a", priority: 7, concurrencyKey: "k", attempts: 1 },
      { payload: null, delay: 60 },
      { payload: [2], run_at: later, backoff: { delay: 5 } },
      { payload: "x" },
    ]);
    expect(body.jobs).toMatchObject([
      { payload: { n: 1 }, state: "waiting", tag: "a", priority: 7, concurrencyKey: "k", attempts: 1 },
      { payload: null, state: "delayed", run_at: later, attempts: 5, priority: 0 },
      { payload: [2], state: "delayed", run_at: later },
      { payload: "x", state: "waiting", tag: null, concurrencyKey: null },
    ]);
    for (const job of body.jobs) expect(await service.job(job)).toMatchObject(job);
  });

  test("a batch reaches the handler, each job once", async ({ service }) => {
    const handler = await service.handler();
    await batch(service, handler.queue, numbered(300));
    await service.untilIdle();
    await until(() => handler.received.length >= 300, "300 callbacks");
    expect(handler.payloads.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbered(300).map(({ payload }) => payload));
  });
});

describe("a batch is taken whole or not at all", () => {
  test.for<[string, object, string]>([
    ["no payload", { tag: "x" }, "jobs[1].payload"],
    ["an unknown field", { payload: 1, prio: 2 }, "jobs[1].prio"],
    ["a delay below nothing", { payload: 1, delay: -1 }, "jobs[1].delay"],
    ["a number in text", { payload: 1, priority: "5" }, "jobs[1].priority"],
    ["delay and run_at", { payload: 1, delay: 1, run_at: "2027-01-01T00:00:00Z" }, "jobs[1].run_at"],
    ["run_at too far ahead", { payload: 1, run_at: "2099-01-01T00:00:00Z" }, "jobs[1].run_at"],
    ["a tag that is too long", { payload: 1, tag: "x".repeat(129) }, "jobs[1].tag"],
  ])("a batch with one job with %s is refused whole", async ([, wrong, path], { service }) => {
    const queue = await service.queue();
    const reply = await batch(service, queue, { jobs: [{ payload: 0 }, wrong, { payload: 2 }] });
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({ code: "VALIDATION_ERROR", details: { issues: [{ path }] } });
    expect(await countOf(service, queue)).toBe(0);
  });

  test("a batch with one payload over 1 MiB is refused whole", async ({ service }) => {
    const queue = await service.queue();
    const reply = await batch(service, queue, [{ payload: 0 }, { payload: "x".repeat(1024 * 1024 - 1) }]);
    expect(reply.status).toBe(413);
    expect(reply.body.error).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      message: "[1].payload may have at most 1,048,576 bytes.",
      details: { limit_bytes: 1024 * 1024, path: "[1].payload" },
    });
    expect(await countOf(service, queue)).toBe(0);
  });
});

describe("a batch is refused", () => {
  test.for<[string, unknown]>([
    ["with 1,001 jobs", { jobs: numbered(1_001) }],
    ["with 1,001 jobs as the bare list", numbered(1_001)],
    ["with no job", { jobs: [] }],
    ["with no job as the bare list", []],
    ["with a field besides jobs", { jobs: numbered(1), tag: "x" }],
    ["with jobs that are no list", { jobs: {} }],
    ["that is one job", { payload: {} }],
    ["that is null", null],
    ["with a job that is no object", [1]],
  ])("a batch is refused: %s", async ([, body], { service }) => {
    const queue = await service.queue();
    const reply = await batch(service, queue, body);
    expect(reply.status).toBe(400);
    expect(reply.body.error.code).toBe("VALIDATION_ERROR");
    expect(await countOf(service, queue)).toBe(0);
  });

  test("a batch for a queue that does not exist is refused", async ({ service }) => {
    const reply = await batch(service, "nowhere", numbered(2));
    expect(reply.status).toBe(404);
    expect(reply.body.error.code).toBe("NOT_FOUND");
  });

  test("a batch over 16 MiB is refused", async ({ service }) => {
    const queue = await service.queue();
    const reply = await batch(
      service,
      queue,
      Array.from({ length: 20 }, () => ({ payload: "x".repeat(900_000) })),
    );
    expect(reply.status).toBe(413);
    expect(reply.body.error).toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      message: "The request may have at most 16,777,216 bytes.",
      details: { limit_bytes: 16 * 1024 * 1024 },
    });
  });
});
