import { describe, expect } from "vitest";
import { CAPACITY, countOf, enqueueAll, haveBothLook, letThrough, patch, test, times, untilOpen } from "../harness/pair.ts";
import { until } from "../harness/service.ts";

const pause = { paused: true };
const resume = { paused: false };

describe("a paused queue", () => {
  test("a paused queue takes jobs and starts none, while others go on", async ({ service, other }) => {
    const handler = await service.handler(pause);
    const jobs = await enqueueAll(other, handler.queue, [{}, { concurrencyKey: "a" }, { priority: 100 }]);
    await service.enqueue({ queue: handler.queue });
    await haveBothLook(service, other);
    expect([jobs.length, await countOf(service, handler.queue, "waiting"), handler.received.length]).toEqual([3, 4, 0]);
  });

  test("a paused queue lets what is under way end, and starts nothing after it", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 3 });
    await enqueueAll(service, handler.queue, times(8, {}));
    await untilOpen(handler, 3);
    await patch(other, handler.queue, pause);
    handler.release();
    await until(async () => (await countOf(service, handler.queue, "completed")) === 3, "three to complete");
    await haveBothLook(service, other);
    expect([await countOf(other, handler.queue, "waiting"), handler.received.length]).toEqual([5, 3]);
    await patch(other, handler.queue, resume);
    await letThrough(handler, 3, 5);
    expect(handler.received).toHaveLength(8);
  });

  test("a paused queue keeps a job that comes due, and one whose attempt failed", async ({ service, other }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { backoff: { delay: 1_000 } } });
    const failed = await service.enqueue({ queue: handler.queue });
    await service.untilState(failed, "delayed");
    await patch(other, handler.queue, pause);
    const delayed = await service.enqueue({ queue: handler.queue, delay: 10 });
    await service.advance(60);
    expect([(await service.job(failed)).state, (await service.job(delayed)).state]).toEqual(["waiting", "waiting"]);
    handler.answers = 200;
    await patch(other, handler.queue, resume);
    for (const job of [failed, delayed]) await service.untilState(job, "completed");
  });
});

describe("a queue that is resumed", () => {
  test("a queue that is resumed starts its jobs at both nodes, in their order", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 1, paused: true });
    for (const priority of [1, 3, 2]) await service.enqueue({ queue: handler.queue, payload: priority, priority });
    await patch(other, handler.queue, resume);
    await letThrough(handler, 1, 3);
    expect(handler.payloads).toEqual([3, 2, 1]);
  });

  test("a queue that is resumed has no more of many jobs under way than the nodes' windows allow", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", ...pause });
    for (let batches = 3; batches > 0; batches -= 1) await enqueueAll(service, handler.queue, times(1_000, {}));
    await patch(other, handler.queue, resume);
    await letSome(handler, 40);
    expect([handler.maxOpen(), await countOf(service, handler.queue, "active")]).toEqual([CAPACITY, CAPACITY]);
  });

  test("a queue that is resumed has no more of many keys under way than the nodes' windows allow", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", ...pause });
    const keys = Array.from({ length: 1_000 }, (_, n) => ({ concurrencyKey: `key ${n % 500}` }));
    await enqueueAll(service, handler.queue, keys);
    await patch(other, handler.queue, resume);
    await letSome(handler, 40);
    expect([handler.maxOpen(), await countOf(service, handler.queue, "active")]).toEqual([CAPACITY, CAPACITY]);
  });

  test("a queue that is resumed keeps to its limits", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 4, ...pause });
    await enqueueAll(service, handler.queue, [...times(5, { payload: "a", concurrencyKey: "a" }), ...times(20, {})]);
    await patch(other, handler.queue, resume);
    await letThrough(handler, 4, 21);
    expect([handler.maxOpen(), handler.maxOpen("a")]).toEqual([4, 1]);
  });

  test("a queue that is resumed and paused again and again loses no job and runs none twice", async ({ service, other }) => {
    const handler = await service.handler({ concurrency: 2 });
    const jobs = await enqueueAll(service, handler.queue, times(100, {}));
    for (let turn = 0; turn < 20; turn += 1) await patch(turn % 4 < 2 ? service : other, handler.queue, turn % 2 === 0 ? pause : resume);
    await until(async () => (await countOf(service, handler.queue, "completed")) === 100, "all to complete");
    expect(handler.received.map(({ body }) => body.id).toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
  });

  /** Responds to hanging attempts one by one. Before each response, both nodes are full. */
  async function letSome(handler: Parameters<typeof untilOpen>[0], count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      await untilOpen(handler, CAPACITY);
      handler.release(200, 1);
    }
    await untilOpen(handler, CAPACITY);
  }
});
