import { describe, expect } from "vitest";
import { CAPACITY, countOf, enqueueAll, haveBothLook, letThrough, test, times, untilOpen } from "../harness/pair.ts";
import { type Service, until } from "../harness/service.ts";
import { ENDINGS } from "./endings.ts";

/** A job of a key, with the key as its payload. */
const of = (key: string) => ({ payload: key, concurrencyKey: key });

const keysOf = (handler: { openPayloads: unknown[] }) => handler.openPayloads.toSorted();

const untilCompleted = (service: Service, queue: string, count: number) =>
  until(async () => (await countOf(service, queue, "completed")) === count, `${count} jobs to complete`);

describe("the concurrency of a key", () => {
  test("the concurrency of a key is one unless the queue says otherwise, over two nodes at once; keys go on beside each other", async ({
    service,
    other,
  }) => {
    const handler = await service.handler({ answers: "hang" });
    const keys = ["a", "b", "c", "d"];
    await Promise.all([service, other].flatMap((one) => keys.map((key) => enqueueAll(one, handler.queue, times(5, of(key))))));
    for (let left = 10; left > 0; left -= 1) {
      await untilOpen(handler, keys.length);
      expect(keysOf(handler)).toEqual(keys);
      handler.release();
    }
    await untilCompleted(service, handler.queue, 40);
    expect(keys.map((key) => handler.maxOpen(key))).toEqual([1, 1, 1, 1]);
  });

  test("the concurrency of a key is what the queue says, and used up as long as jobs wait", async ({ service, other }) => {
    // More than one node may have of a queue: both have to take part.
    const limit = CAPACITY / 2 + 3;
    const handler = await service.handler({ answers: "hang", concurrency_per_key: limit });
    await Promise.all([service, other].map((one) => enqueueAll(one, handler.queue, times(10 * limit, of("a")))));
    await letThrough(handler, limit, 20 * limit, limit);
    await untilCompleted(other, handler.queue, 20 * limit);
    expect([handler.maxOpen("a"), handler.received.length]).toEqual([limit, 20 * limit]);
  });

  test("the concurrency of a key holds for jobs that are enqueued one by one, at both nodes", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await Promise.all([service, other].flatMap((one) => times(8, one)).map((one) => one.enqueue({ queue: handler.queue, ...of("a") })));
    await letThrough(handler, 1, 16);
    expect([handler.maxOpen("a"), handler.received.length]).toEqual([1, 16]);
  });

  test("the concurrency of a key holds for jobs that come due all at once", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await enqueueAll(other, handler.queue, times(6, { ...of("a"), delay: 60 }));
    await service.advance(60);
    await letThrough(handler, 1, 6);
    expect([handler.maxOpen("a"), handler.received.length]).toEqual([1, 6]);
  });

  test("the concurrency of a key keeps no job without a key", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await enqueueAll(other, handler.queue, [...times(5, of("a")), ...times(5, { payload: "none" })]);
    await untilOpen(handler, 6);
    await haveBothLook(service, other);
    expect(keysOf(handler)).toEqual(["a", ...times(5, "none")]);
  });

  test("the concurrency of a key is each queue's own", async ({ service, other }) => {
    const handlers = [await service.handler({ answers: "hang" }), await service.handler({ answers: "hang" })];
    for (const { queue } of handlers) await enqueueAll(other, queue, times(3, of("a")));
    for (const handler of handlers) await letThrough(handler, 1, 3);
  });

  test("the concurrency of a key is for the key as it is written: case, space and accents make another", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    const keys = ["a", "A", "a ", "á", "a\u0301"];
    await enqueueAll(other, handler.queue, [...keys, ...keys].map(of));
    await untilOpen(handler, keys.length);
    expect(keysOf(handler)).toEqual(keys.toSorted());
  });

  test("the concurrency of a key holds together with the queue's", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 3, concurrency_per_key: 2 });
    await enqueueAll(other, handler.queue, [...times(5, of("a")), ...times(5, of("b"))]);
    await untilOpen(handler, 3);
    expect(keysOf(handler)).toEqual(["a", "a", "b"]);
    for (let left = 4; left > 0; left -= 1) {
      await untilOpen(handler, 3);
      handler.release(200, 1);
    }
    expect([handler.maxOpen(), handler.maxOpen("a")]).toEqual([3, 2]);
    expect(handler.maxOpen("b")).toBeLessThanOrEqual(2);
  });
});

describe("the slot of a key", () => {
  for (const [name, end] of Object.entries(ENDINGS))
    test(`a key's slot is free for the next job when ${name}`, async ({ service, other }) => {
      const handler = await service.handler({
        answers: ({ body }) => (body.payload === "first" && body.attempt === 1 ? "hang" : 200),
        defaultJobOptions: { backoff: { delay: 3_600_000 } },
      });
      const job = await service.enqueue({ queue: handler.queue, payload: "first", concurrencyKey: "a" });
      await untilOpen(handler, 1);
      const next = await service.enqueue({ queue: handler.queue, payload: "next", concurrencyKey: "a" });
      const left = await end({ service, other, handler, job });
      await left.untilState(next, "completed");
    });

  test("a key's slot is free when the job that had it, and had not begun, is cancelled", async ({ service, other }) => {
    const handler = await service.handler({ paused: true });
    const [first, second] = await enqueueAll(service, handler.queue, [
      { payload: "first", concurrencyKey: "a" },
      { payload: "second", concurrencyKey: "a" },
    ]);
    await other.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${first?.id}`);
    await other.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await service.untilState(second as { id: string; queue: string }, "completed");
    expect(handler.payloads).toEqual(["second"]);
  });

  test("a key's slot is free when the queue is deleted and made anew", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    const { queue: name } = handler;
    await enqueueAll(service, name, times(3, of("a")));
    await untilOpen(handler, 1);
    await other.ok("DELETE", `/v1/queues/${name}`);
    await until(() => handler.aborted === 1, "the attempt to be broken off");
    await other.ok("POST", "/v1/queues", { name, callback_url: handler.url });
    await enqueueAll(service, name, times(3, of("a")));
    await letThrough(handler, 1, 3);
  });
});

describe("jobs of a key that come back find its limit there:", () => {
  test("a job of a key whose next attempt is due waits while another of its key is under way", async ({ service, other }) => {
    const handler = await service.handler({
      answers: ({ body }) => (body.payload === "a" && body.attempt === 1 ? 500 : "hang"),
      defaultJobOptions: { backoff: { delay: 1_000 } },
    });
    const job = await service.enqueue({ queue: handler.queue, ...of("a") });
    await service.untilState(job, "delayed");
    await other.enqueue({ queue: handler.queue, payload: "b", concurrencyKey: "a" });
    await untilOpen(handler, 1);
    await service.advance(60);
    await haveBothLook(service, other);
    expect(await service.job(job)).toMatchObject({ state: "waiting", attempt: 1 });
    expect(handler.openPayloads).toEqual(["b"]);
    await letThrough(handler, 1, 2);
    await service.untilState(job, "completed");
  });

  test("a job of a key that is retried by hand finds its limit there", async ({ service, other }) => {
    const handler = await service.handler({ answers: 410 });
    const job = await service.enqueue({ queue: handler.queue, ...of("a") });
    await service.untilState(job, "failed");
    handler.answers = "hang";
    await service.enqueue({ queue: handler.queue, ...of("a") });
    await untilOpen(handler, 1);
    expect(await other.ok("POST", `/v1/queues/${job.queue}/jobs/${job.id}/retry`)).toMatchObject({ state: "waiting" });
    await haveBothLook(service, other);
    await letThrough(handler, 1, 2);
    await service.untilState(job, "completed");
  });

  test("a job of a key that was cancelled and is retried finds its limit there", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await service.enqueue({ queue: handler.queue, ...of("a") });
    await untilOpen(handler, 1);
    const job = await service.enqueue({ queue: handler.queue, ...of("a") });
    await other.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
    expect(await other.ok("POST", `/v1/queues/${job.queue}/jobs/${job.id}/retry`)).toMatchObject({ state: "waiting" });
    await haveBothLook(service, other);
    await letThrough(handler, 1, 2);
    await service.untilState(job, "completed");
  });

  test("jobs of a key that come back from the dead-letter queue find their limit there", async ({ service, other }) => {
    const handler = await service.handler({ answers: 410, concurrency_per_key: 2 });
    await enqueueAll(service, handler.queue, [...times(6, of("a")), ...times(6, of("b"))]);
    await until(async () => (await countOf(service, handler.queue, "failed")) === 12, "all to fail");
    handler.answers = "hang";
    expect(await other.ok("POST", "/v1/dlq/retry")).toEqual({ retried: 12 });
    await letThrough(handler, 4, 12);
    expect([handler.maxOpen("a"), handler.maxOpen("b")]).toEqual([2, 2]);
  });
});
