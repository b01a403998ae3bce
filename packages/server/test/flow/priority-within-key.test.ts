import { describe, expect } from "vitest";
import { enqueueAll, patch, test, untilOpen } from "../harness/pair.ts";
import { type Service, until } from "../harness/service.ts";

/** A job of key a, with its name as payload. */
const named = (payload: string, priority = 0) => ({ payload, priority, concurrencyKey: "a" });

/** A queue with one active job of key a. The key's other jobs have to wait for it. */
async function busyKey(service: Service) {
  const handler = await service.handler({ answers: ({ body }) => (body.payload === "before" && body.attempt === 1 ? "hang" : 200) });
  await service.enqueue({ queue: handler.queue, ...named("before") });
  await untilOpen(handler, 1);
  return handler;
}

async function orderOf({ handler, count }: { handler: Awaited<ReturnType<typeof busyKey>>; count: number }): Promise<unknown[]> {
  handler.release();
  await until(() => handler.payloads.length === count + 1, `${count} jobs to start`);
  return handler.payloads.slice(1);
}

describe("of jobs with the same key", () => {
  test("a higher priority of the same key goes first, although it was enqueued later and at another node", async ({ service, other }) => {
    const handler = await busyKey(service);
    await service.enqueue({ queue: handler.queue, ...named("low", -1) });
    await service.enqueue({ queue: handler.queue, ...named("plain") });
    await other.enqueue({ queue: handler.queue, ...named("high", 1) });
    expect(await orderOf({ handler, count: 3 })).toEqual(["high", "plain", "low"]);
  });

  test("a higher priority takes the place of one that was next and has not begun", async ({ service, other }) => {
    const handler = await service.handler({ paused: true });
    await service.enqueue({ queue: handler.queue, ...named("first") });
    await other.enqueue({ queue: handler.queue, ...named("second", 1) });
    await service.enqueue({ queue: handler.queue, ...named("third", 2) });
    await patch(other, handler.queue, { paused: false });
    await until(() => handler.payloads.length === 3, "all to start");
    expect(handler.payloads).toEqual(["third", "second", "first"]);
  });

  test("jobs with the same key and priority go first in, first out, also within a batch", async ({ service, other }) => {
    const handler = await busyKey(service);
    const names = Array.from({ length: 30 }, (_, n) => `${n}`);
    await enqueueAll(
      service,
      handler.queue,
      names.slice(0, 20).map((name) => named(name)),
    );
    await service.clock.advance(1);
    for (const name of names.slice(20)) await other.enqueue({ queue: handler.queue, ...named(name) });
    expect(await orderOf({ handler, count: 30 })).toEqual(names);
  });

  test("jobs with the same key go by when they were due, not by when they were made", async ({ service, other }) => {
    const handler = await busyKey(service);
    await other.enqueue({ queue: handler.queue, ...named("due at 20"), delay: 20 });
    await other.enqueue({ queue: handler.queue, ...named("due at 10"), delay: 10 });
    await service.enqueue({ queue: handler.queue, ...named("due at 0") });
    await service.enqueue({ queue: handler.queue, ...named("urgent, due at 20", 9), delay: 20 });
    await service.advance(20);
    expect(await orderOf({ handler, count: 4 })).toEqual(["urgent, due at 20", "due at 0", "due at 10", "due at 20"]);
  });

  test("a job whose attempt failed goes by its priority within its key once it is due again", async ({ service, other }) => {
    const handler = await service.handler({
      answers: ({ body }) => ({ failing: body.attempt === 1 ? 500 : 200, before: "hang" as const })[String(body.payload)] ?? 200,
      defaultJobOptions: { backoff: { delay: 1_000 } },
    });
    const job = await service.enqueue({ queue: handler.queue, ...named("failing", 5) });
    await service.untilState(job, "delayed");
    await other.enqueue({ queue: handler.queue, ...named("before") });
    await untilOpen(handler, 1);
    await other.enqueue({ queue: handler.queue, ...named("plain") });
    await service.advance(60);
    handler.release();
    await until(() => handler.payloads.length === 4, "all to start");
    expect(handler.payloads.slice(2)).toEqual(["failing", "plain"]);
  });

  test("a job that is cancelled leaves its place in its key to the next", async ({ service, other }) => {
    const handler = await busyKey(service);
    const [first, second] = await enqueueAll(service, handler.queue, [named("first", 2), named("second", 1), named("third")]);
    for (const job of [second, first]) await other.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${job?.id}`);
    expect(await orderOf({ handler, count: 1 })).toEqual(["third"]);
  });
});

describe("of a queue's jobs with different keys", () => {
  test("the highest priorities go first, whatever their keys", async ({ service, other }) => {
    const handler = await service.handler({ concurrency: 1, paused: true });
    await enqueueAll(other, handler.queue, [
      { payload: "none" },
      { payload: "a", concurrencyKey: "a", priority: 1 },
      { payload: "b", concurrencyKey: "b", priority: 3 },
      { payload: "a first", concurrencyKey: "a", priority: 2 },
      { payload: "none first", priority: 4 },
    ]);
    await patch(service, handler.queue, { paused: false });
    await until(() => handler.payloads.length === 5, "all to start");
    expect(handler.payloads).toEqual(["none first", "b", "a first", "a", "none"]);
  });
});
