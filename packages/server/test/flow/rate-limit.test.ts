import { describe, expect } from "vitest";
import { enqueueAll, test, times } from "../harness/pair.ts";
import { startsOf, untilRateIsUsed } from "../harness/rate-limit.ts";
import { until } from "../harness/service.ts";

const RATE = { max: 5, per_seconds: 10 };

describe("the rate limit of a queue", () => {
  test("the rate limit of a queue lets as many jobs start as it says, over two nodes, and more when its span is over", async ({
    service,
    other,
  }) => {
    const handler = await service.handler({ rate_limit: RATE });
    await Promise.all([service, other].map((one) => enqueueAll(one, handler.queue, times(6, {}))));
    const startMs = service.clock.nowMs();
    for (const [seconds, started] of [
      [0, 5],
      [5, 5],
      [4.9, 5],
      [0.1, 10],
      [9.9, 10],
      [0.1, 12],
    ] as const) {
      await service.advance(seconds);
      other.node.wake();
      await untilRateIsUsed(service, handler.queue);
      await until(() => handler.received.length >= started, `${started} jobs to start`);
      expect(handler.received).toHaveLength(started);
    }
    const starts = (await startsOf(service, handler.queue)).map((ms) => ms - startMs);
    expect(starts).toEqual([...times(5, 0), ...times(5, 10_000), ...times(2, 20_000)]);
  });

  test("the rate limit of a queue holds for any span of time, however jobs come", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: RATE });
    const steps = [0, 0.1, 3.7, 2.2, 3.95, 0.05, 0.3, 6, 1.11, 2.5, 0.4, 0.4, 4.9, 5, 3.3, 7.01, 2.99, 0.2, 9.7, 1.3];
    for (const [index, seconds] of steps.entries()) {
      await service.advance(seconds);
      other.node.wake();
      await enqueueAll(index % 2 === 0 ? service : other, handler.queue, times(1 + (index % 4), {}));
      await untilRateIsUsed(service, handler.queue);
    }
    const starts = await startsOf(service, handler.queue);
    const inSpanBefore = (ms: number) => starts.filter((one) => one <= ms && one > ms - RATE.per_seconds * 1_000).length;
    expect(starts.map(inSpanBefore).filter((count) => count > RATE.max)).toEqual([]);
    // A start may count for up to a fiftieth of the span too long.
    const spans = Math.floor(steps.reduce((sum, seconds) => sum + seconds, 0) / (RATE.per_seconds * 1.02));
    expect(starts.length).toBeGreaterThanOrEqual(spans * RATE.max);
  });

  test("the rate limit of a queue holds for jobs that are enqueued one by one", async ({ service, other }) => {
    const handler = await service.handler({ rate_limit: { max: 3, per_seconds: 60 } });
    await Promise.all([service, other].flatMap((one) => times(8, one)).map((one) => one.enqueue({ queue: handler.queue })));
    await untilRateIsUsed(other, handler.queue);
    await until(() => handler.received.length === 3, "three to start");
    expect(await startsOf(service, handler.queue)).toHaveLength(3);
  });

  test("the rate limit of a queue counts every attempt", async ({ service, other }) => {
    const handler = await service.handler({
      answers: 500,
      rate_limit: { max: 2, per_seconds: 60 },
      defaultJobOptions: { attempts: 2, backoff: { delay: 0 } },
    });
    await enqueueAll(other, handler.queue, times(2, {}));
    await until(() => handler.received.length === 2, "two attempts");
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.delayed === 2, "both to wait for their next");
    await service.advance(60);
    await until(() => handler.received.length === 4, "two attempts more");
    const startMs = service.clock.nowMs() - 60_000;
    expect((await startsOf(service, handler.queue)).map((ms) => ms - startMs)).toEqual([0, 0, 60_000, 60_000]);
  });

  test("the rate limit of a queue holds together with the queue's concurrency", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2, rate_limit: { max: 3, per_seconds: 60 } });
    await enqueueAll(other, handler.queue, times(6, {}));
    await until(() => handler.open === 2, "two to start");
    handler.release(200, 2);
    await until(() => handler.received.length === 3, "a third to start");
    handler.release();
    await untilRateIsUsed(service, handler.queue);
    await service.advance(60);
    await until(() => handler.open === 2, "two more to start");
    expect([handler.maxOpen(), handler.received.length]).toEqual([2, 5]);
  });

  test("the rate limit of a queue is each queue's own", async ({ service, other }) => {
    const [slow, quick, free] = [
      await service.handler({ rate_limit: { max: 1, per_seconds: 3_600 } }),
      await service.handler({ rate_limit: { max: 100, per_seconds: 1 } }),
      await service.handler(),
    ];
    for (const { queue } of [slow, quick, free]) await enqueueAll(other, queue, times(10, {}));
    await until(() => quick.received.length === 10 && free.received.length === 10, "the others' jobs to start");
    await untilRateIsUsed(service, slow.queue);
    expect(await startsOf(service, slow.queue)).toHaveLength(1);
  });

  test("the rate limit of a queue opens by itself when its span is over: nobody polls", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", rate_limit: { max: 1, per_seconds: 1 } });
    await enqueueAll(other, handler.queue, times(3, {}));
    await until(() => handler.open === 1, "the first to start");
    // The second may be found by somebody who has just been told of the jobs; nobody is told any more by the time of the third.
    for (const count of [2, 3]) {
      await service.clock.advance(1);
      await until(() => handler.open === count, `${count} to have started`);
    }
  });
});
