import { describe, expect } from "vitest";
import { test, until } from "../harness/service.ts";
import { settle, take, takeOne } from "../harness/workers.ts";

describe("workers keep to a queue's limits", () => {
  test("to its concurrency: a worker that waits gets the next job when one ends", async ({ service }) => {
    const queue = await service.queue({ concurrency: 2 });
    for (let n = 0; n < 4; n += 1) await service.enqueue({ queue, payload: n });
    const held = await take(service, queue, { limit: 10 });
    expect(held).toHaveLength(2);
    const waiting = take(service, queue, { limit: 10, wait: 30 });
    await settle(service, held[0] as never, { outcome: "completed" });
    expect((await waiting).map(({ payload }) => payload)).toEqual([2]);
  });

  test("to its concurrency: a worker that waits gets the next job when one that another worker holds is cancelled", async ({ service }) => {
    const queue = await service.queue({ concurrency: 1 });
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue, payload: n });
    const held = await takeOne(service, queue);
    const waiting = take(service, queue, { worker: "w2", wait: 30 });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${held.id}`);
    expect(await waiting).toMatchObject([{ payload: 1 }]);
  });

  test("to a concurrency that is set while a job is held: a worker that waits gets the next job when that one ends", async ({
    service,
  }) => {
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue, payload: n });
    const held = await takeOne(service, queue);
    await service.ok("PATCH", `/v1/queues/${queue}`, { concurrency: 1 });
    expect(await take(service, queue, { worker: "w2" })).toEqual([]);
    const waiting = take(service, queue, { worker: "w2", wait: 20 });
    await settle(service, held, { outcome: "completed" });
    expect(await waiting).toMatchObject([{ payload: 1 }]);
  });

  test("to its concurrency per key", async ({ service }) => {
    const queue = await service.queue();
    for (const [payload, concurrencyKey] of [
      ["a1", "a"],
      ["a2", "a"],
      ["b1", "b"],
    ])
      await service.enqueue({ queue, payload, concurrencyKey });
    const held = await take(service, queue, { limit: 10 });
    expect(held.map(({ payload }) => payload)).toEqual(["a1", "b1"]);
    const waiting = take(service, queue, { limit: 10, wait: 30 });
    await settle(service, held[0] as never, { outcome: "completed" });
    expect((await waiting).map(({ payload }) => payload)).toEqual(["a2"]);
  });

  test("to its rate limit", async ({ service }) => {
    const queue = await service.queue({ rate_limit: { max: 2, per_seconds: 1 } });
    for (let n = 0; n < 3; n += 1) await service.enqueue({ queue, payload: n });
    expect(await take(service, queue, { limit: 10 })).toHaveLength(2);
    expect(await take(service, queue, { limit: 10 })).toEqual([]);
    await service.advance(1);
    expect(await take(service, queue, { limit: 10, wait: 20 })).toMatchObject([{ payload: 2 }]);
  });

  test("to a pause: a worker that waits gets jobs when the queue goes on", async ({ service }) => {
    const queue = await service.queue({ paused: true });
    await service.enqueue({ queue, payload: 1 });
    expect(await take(service, queue)).toEqual([]);
    const waiting = take(service, queue, { wait: 30 });
    await service.ok("PATCH", `/v1/queues/${queue}`, { paused: false });
    expect(await waiting).toMatchObject([{ payload: 1 }]);
  });

  test("to priorities, then to the order of arrival", async ({ service }) => {
    const queue = await service.queue();
    for (const [payload, priority] of [
      [1, 0],
      [2, 0],
      [3, 5],
    ])
      await service.enqueue({ queue, payload, priority });
    expect((await take(service, queue, { limit: 3 })).map(({ payload }) => payload)).toEqual([3, 1, 2]);
  });

  test("to approvals: a job is taken when it is approved", async ({ service }) => {
    const queue = await service.queue({ type: "approval" });
    const { id } = await service.enqueue({ queue });
    const waiting = take(service, queue, { wait: 30 });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${id}/approve`, {});
    expect(await waiting).toMatchObject([{ id }]);
  });

  test("to delays: a worker that waits gets a job when it is due", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, delay: 5 });
    const waiting = take(service, queue, { wait: 30 });
    await service.advance(5);
    expect(await waiting).toMatchObject([{ id }]);
  });
});

describe("a queue that workers cannot serve", () => {
  test("is refused while it has a callback_url, and served when it has none any more", async ({ service }) => {
    const handler = await service.handler({ paused: true });
    const asked = { worker: "w1", queues: [handler.queue] };
    const { status, body } = await service.api("POST", "/v1/work", asked);
    expect([status, body.error.code]).toEqual([409, "INVALID_STATE"]);
    await service.enqueue({ queue: handler.queue, payload: 1 });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: null, paused: false });
    expect(await takeOne(service, handler.queue)).toMatchObject({ payload: 1 });
  });

  test("gives the place of a job that a worker still held to the next one, which is delivered", async ({ service }) => {
    const handler = await service.handler();
    const queue = await service.queue({ concurrency: 1 });
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue });
    const held = await takeOne(service, queue);
    await service.ok("PATCH", `/v1/queues/${queue}`, { callback_url: handler.url });
    expect(await settle(service, held, { outcome: "completed" })).toMatchObject({ ok: true });
    await until(() => handler.received.length === 1, "the next job to be delivered");
  });

  test("is not found when it does not exist, or was deleted", async ({ service }) => {
    const queue = await service.queue();
    expect(await take(service, queue)).toEqual([]);
    const waiting = take(service, queue, { wait: 30 });
    await service.ok("DELETE", `/v1/queues/${queue}`);
    expect(await waiting).toEqual([]);
    const { status, body } = await service.api("POST", "/v1/work", { worker: "w1", queues: [queue] });
    expect([status, body.error.code, body.error.details.resource]).toEqual([404, "NOT_FOUND", "queue"]);
  });
});
