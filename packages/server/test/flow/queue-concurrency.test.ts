import { describe, expect } from "vitest";
import { countOf, enqueueAll, haveBothLook, letThrough, test, times, untilOpen } from "../harness/pair.ts";
import { until } from "../harness/service.ts";
import { ENDINGS } from "./endings.ts";

/** More than one node may run of a queue, so that both nodes have to take part. */
const LIMIT = 11;

describe("the concurrency of a queue", () => {
  test("the concurrency of a queue holds over two nodes at once, and is used up as long as jobs wait", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: LIMIT });
    await Promise.all([service, other].map((one) => enqueueAll(one, handler.queue, times(20 * LIMIT, {}))));
    await letThrough(handler, LIMIT, 40 * LIMIT, LIMIT);
    await until(async () => (await countOf(service, handler.queue, "completed")) === 40 * LIMIT, "all to complete");
    expect([handler.maxOpen(), handler.received.length]).toEqual([LIMIT, 40 * LIMIT]);
  });

  test("the concurrency of a queue holds for jobs that are enqueued one by one, at both nodes", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2 });
    await Promise.all([service, other].flatMap((one) => times(10, one)).map((one) => one.enqueue({ queue: handler.queue })));
    await letThrough(handler, 2, 20);
    expect([handler.maxOpen(), handler.received.length]).toEqual([2, 20]);
  });

  test("the concurrency of a queue holds for jobs that come due all at once", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2 });
    await enqueueAll(other, handler.queue, times(12, { delay: 60 }));
    await service.advance(60);
    await letThrough(handler, 2, 12);
    expect([handler.maxOpen(), handler.received.length]).toEqual([2, 12]);
  });

  test("the concurrency of a queue is each queue's own", async ({ service, other }) => {
    const full = await service.handler({ answers: "hang", concurrency: 1 });
    const limited = await service.handler({ answers: "hang", concurrency: 1 });
    const free = await service.handler({ answers: "hang" });
    for (const { queue } of [full, limited, free]) await enqueueAll(other, queue, times(4, {}));
    await Promise.all([untilOpen(full, 1), untilOpen(limited, 1), untilOpen(free, 4)]);
    await letThrough(limited, 1, 4);
    await haveBothLook(service, other);
    expect([full.received.length, limited.maxOpen()]).toEqual([1, 1]);
  });

  test("the concurrency of a queue counts jobs with keys and without alike", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 3, concurrency_per_key: 2 });
    await enqueueAll(other, handler.queue, [
      ...times(6, { payload: "a", concurrencyKey: "a" }),
      ...times(6, { payload: "b", concurrencyKey: "b" }),
      ...times(6, {}),
    ]);
    await letThrough(handler, 3, 18);
    expect(handler.maxOpen()).toBe(3);
    expect(Math.max(handler.maxOpen("a"), handler.maxOpen("b"))).toBe(2);
  });
});

describe("the slot of a queue", () => {
  for (const [name, end] of Object.entries(ENDINGS))
    test(`a queue's slot is free for the next job when ${name}`, async ({ service, other }) => {
      const handler = await service.handler({
        answers: ({ body }) => (body.payload === "first" && body.attempt === 1 ? "hang" : 200),
        concurrency: 1,
        defaultJobOptions: { backoff: { delay: 3_600_000 } },
      });
      const job = await service.enqueue({ queue: handler.queue, payload: "first" });
      await untilOpen(handler, 1);
      const next = await service.enqueue({ queue: handler.queue, payload: "next" });
      const left = await end({ service, other, handler, job });
      await left.untilState(next, "completed");
    });

  test("the concurrency of a queue starts from nothing when the queue is deleted and made anew", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2 });
    const { queue: name } = handler;
    await enqueueAll(service, name, times(5, {}));
    await untilOpen(handler, 2);
    await other.ok("DELETE", `/v1/queues/${name}`);
    await until(() => handler.aborted === 2, "the attempts to be broken off");
    await other.ok("POST", "/v1/queues", { name, callback_url: handler.url, concurrency: 2 });
    await enqueueAll(service, name, times(4, { payload: "anew" }));
    await letThrough(handler, 2, 4);
    expect(handler.maxOpen("anew")).toBe(2);
  });
});

describe("jobs that come back find the limit there:", () => {
  test("a job that is retried by hand waits for its slot of the queue", async ({ service, other }) => {
    const handler = await service.handler({ answers: 410, concurrency: 1 });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "failed");
    handler.answers = "hang";
    await service.enqueue({ queue: handler.queue });
    await untilOpen(handler, 1);
    expect(await other.ok("POST", `/v1/queues/${job.queue}/jobs/${job.id}/retry`)).toMatchObject({ state: "waiting" });
    await haveBothLook(service, other);
    await letThrough(handler, 1, 2);
    await service.untilState(job, "completed");
    expect(handler.maxOpen()).toBe(1);
  });

  test("jobs that come back from the dead-letter queue wait for their slot of the queue", async ({ service, other }) => {
    const handler = await service.handler({ answers: 410, concurrency: 3 });
    await enqueueAll(service, handler.queue, times(12, {}));
    await until(async () => (await countOf(service, handler.queue, "failed")) === 12, "all to fail");
    handler.answers = "hang";
    expect(await other.ok("POST", `/v1/queues/${handler.queue}/retry-all`)).toEqual({ retried: 12 });
    await letThrough(handler, 3, 12);
    expect(handler.maxOpen()).toBe(3);
  });

  test("a cancel of a job that waits frees no slot", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 1 });
    await service.enqueue({ queue: handler.queue });
    await untilOpen(handler, 1);
    const [waiting] = await enqueueAll(service, handler.queue, times(3, {}));
    await other.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${waiting?.id}`);
    await haveBothLook(service, other);
    await letThrough(handler, 1, 3);
    expect([handler.maxOpen(), handler.received.length]).toEqual([1, 3]);
  });
});
