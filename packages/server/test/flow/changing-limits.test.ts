import { describe, expect } from "vitest";
import { enqueueAll, haveBothLook, letThrough, patch, test, times, untilOpen } from "../harness/pair.ts";
import { startsOf, untilRateIsUsed } from "../harness/rate-limit.ts";
import { until } from "../harness/service.ts";

const a = { payload: "a", concurrencyKey: "a" };

describe("a queue's concurrency that is changed", () => {
  test("a queue's concurrency that is changed acts at once when it is raised", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2 });
    await enqueueAll(service, handler.queue, times(12, {}));
    await untilOpen(handler, 2);
    await patch(other, handler.queue, { concurrency: 9 });
    await letThrough(handler, 9, 12);
    expect(handler.maxOpen()).toBe(9);
  });

  test("a queue's concurrency that is changed lets all go when it is taken away", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 1 });
    await enqueueAll(service, handler.queue, times(12, {}));
    await untilOpen(handler, 1);
    await patch(other, handler.queue, { concurrency: null });
    await untilOpen(handler, 12);
  });

  test("a queue's concurrency that is changed acts for those that have not begun when it is lowered", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 6 });
    await enqueueAll(service, handler.queue, times(12, {}));
    await untilOpen(handler, 6);
    await patch(other, handler.queue, { concurrency: 2 });
    handler.release(200, 4);
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.active === 2, "four to be settled");
    await haveBothLook(service, other);
    expect(handler.received).toHaveLength(6);
    await letThrough(handler, 2, 8);
    expect(handler.received).toHaveLength(12);
  });

  test("a queue's concurrency that is changed acts where there was none, for jobs that began without it", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await enqueueAll(service, handler.queue, times(5, {}));
    await service.enqueue({ queue: handler.queue });
    await untilOpen(handler, 6);
    await patch(other, handler.queue, { concurrency: 2 });
    await enqueueAll(service, handler.queue, times(4, {}));
    handler.release(200, 5);
    await letThrough(handler, 2, 5);
    expect(handler.received).toHaveLength(10);
  });
});

describe("concurrency_per_key that is changed", () => {
  test("concurrency_per_key that is changed acts for jobs that wait when it is raised", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang" });
    await enqueueAll(service, handler.queue, times(8, a));
    await untilOpen(handler, 1);
    await patch(other, handler.queue, { concurrency_per_key: 3 });
    await letThrough(handler, 3, 8);
    expect(handler.maxOpen("a")).toBe(3);
  });

  test("concurrency_per_key that is changed acts for those that have not begun when it is lowered", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency_per_key: 5 });
    await enqueueAll(service, handler.queue, times(9, a));
    await untilOpen(handler, 5);
    await patch(other, handler.queue, { concurrency_per_key: 2 });
    handler.release(200, 3);
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.active === 2, "three to be settled");
    await haveBothLook(service, other);
    expect(handler.received).toHaveLength(5);
    await letThrough(handler, 2, 6);
    expect(handler.received).toHaveLength(9);
  });

  test("concurrency_per_key that is changed acts for keys of a paused queue, both ways", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency_per_key: 4, paused: true });
    await enqueueAll(service, handler.queue, times(8, a));
    for (const concurrency_per_key of [1, 5, 2]) {
      await patch(other, handler.queue, { concurrency_per_key });
      await untilSlots(service, handler.queue, concurrency_per_key);
    }
    await patch(other, handler.queue, { paused: false });
    await letThrough(handler, 2, 8);
    expect(handler.maxOpen("a")).toBe(2);
  });

  test("concurrency_per_key that is changed acts for all keys of a queue with many", async ({ service, other }) => {
    const handler = await service.handler({ paused: true });
    const keys = Array.from({ length: 1_000 }, (_, n) => ({ concurrencyKey: `key ${n}` }));
    for (const batch of [keys, keys, keys]) await enqueueAll(service, handler.queue, batch);
    await patch(other, handler.queue, { concurrency_per_key: 2 });
    await untilSlots(service, handler.queue, 2_000);
    await patch(other, handler.queue, { concurrency_per_key: 1 });
    await untilSlots(service, handler.queue, 1_000);
  });

  /** Waits until this many of the waiting jobs have a slot of their key. */
  const untilSlots = ({ database, key }: Parameters<typeof patch>[0], queue: string, count: number): Promise<void> =>
    until(async () => {
      const [found] = await database.query<{ n: number }>(
        `select count(j.key_slot)::int as n from job j join lane q on q.workspace_id = j.workspace_id and q.id = j.lane_id
         join api_key k on k.workspace_id = q.workspace_id where k.hash = sha256($1::text::bytea) and q.name = $2`,
        [key, queue],
      );
      return found?.n === count;
    }, `${count} jobs with slots`);
});

describe("a rate limit that is changed", () => {
  test("a rate limit that is changed acts at once when it is raised", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: { max: 2, per_seconds: 3_600 } });
    await enqueueAll(service, handler.queue, times(9, {}));
    await until(() => handler.received.length === 2, "two to start");
    await patch(other, handler.queue, { rate_limit: { max: 7, per_seconds: 3_600 } });
    await until(() => handler.received.length === 7, "seven to have started");
    await untilRateIsUsed(service, handler.queue);
    expect(await startsOf(service, handler.queue)).toHaveLength(7);
  });

  test("a rate limit that is changed counts what started under it when its span gets shorter", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: { max: 3, per_seconds: 3_600 } });
    await enqueueAll(service, handler.queue, times(9, {}));
    await until(() => handler.received.length === 3, "three to start");
    await service.advance(50);
    await patch(other, handler.queue, { rate_limit: { max: 3, per_seconds: 60 } });
    await untilRateIsUsed(service, handler.queue);
    await service.advance(10);
    await until(() => handler.received.length === 6, "three more to start");
    expect(await startsOf(service, handler.queue)).toHaveLength(6);
  });

  test("a rate limit that is changed starts nothing more when it is lowered below what has started", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: { max: 5, per_seconds: 60 } });
    await enqueueAll(service, handler.queue, times(9, {}));
    await until(() => handler.received.length === 5, "five to start");
    await service.advance(30);
    await patch(other, handler.queue, { rate_limit: { max: 2, per_seconds: 60 } });
    await service.advance(30);
    await until(() => handler.received.length === 7, "two more to start");
    await untilRateIsUsed(service, handler.queue);
    const startMs = service.clock.nowMs() - 60_000;
    expect((await startsOf(service, handler.queue)).map((ms) => ms - startMs)).toEqual([...times(5, 0), ...times(2, 60_000)]);
  });

  test("a rate limit that is changed lets all go when it is taken away", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: { max: 1, per_seconds: 3_600 } });
    await enqueueAll(service, handler.queue, times(9, {}));
    await until(() => handler.received.length === 1, "one to start");
    await patch(other, handler.queue, { rate_limit: null });
    await until(() => handler.received.length === 9, "all to start");
  });

  test("a rate limit that is changed acts where there was none, and then counts from its beginning", async ({ service, other }) => {
    const handler = await service.handler();
    await enqueueAll(service, handler.queue, times(4, {}));
    await until(() => handler.received.length === 4, "all to start");
    await patch(other, handler.queue, { rate_limit: { max: 2, per_seconds: 60 } });
    await enqueueAll(service, handler.queue, times(5, {}));
    await until(() => handler.received.length === 6, "two more to start");
    await untilRateIsUsed(service, handler.queue);
    expect(await startsOf(service, handler.queue)).toHaveLength(6);
  });
});
