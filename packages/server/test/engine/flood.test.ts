import { describe, expect } from "vitest";
import { test, until } from "../harness/service.ts";

const jobs = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

describe("a flood in one queue", () => {
  test("a flood in one queue whose handler hangs does not delay another queue's job", async ({ service }) => {
    const hanging = await service.handler({ answers: "hang", callback_timeout: 900 });
    await service.ok("POST", `/v1/queues/${hanging.queue}/jobs/batch`, jobs(500));
    await until(() => hanging.open > 0, "the first attempts");
    const handler = await service.handler();
    for (let index = 0; index < 5; index += 1) await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    expect(handler.attempts).toHaveLength(5);
  });

  test("a flood in one queue whose handler hangs does not delay a flood in another queue", async ({ service }) => {
    const hanging = await service.handler({ answers: "hang", callback_timeout: 900 });
    await service.ok("POST", `/v1/queues/${hanging.queue}/jobs/batch`, jobs(500));
    const handler = await service.handler();
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, jobs(500));
    await until(() => handler.received.length === 500, "the other flood");
  });

  test("a flood in one queue is under way as a whole where its handler is slow and the node has room", async ({ service }) => {
    const slow = await service.handler({ answers: "hang", callback_timeout: 900 });
    await service.ok("POST", `/v1/queues/${slow.queue}/jobs/batch`, jobs(500));
    await until(() => slow.open === 500, "all of the flood to be under way");
    slow.answers = 200;
    slow.release();
    await until(async () => (await service.ok("GET", `/v1/queues/${slow.queue}`)).metrics.completed === 500, "all of it to complete");
  });

  test("a flood of jobs that fail in one queue does not delay another queue's job", async ({ service }) => {
    const failing = await service.handler({ answers: 429, defaultJobOptions: { attempts: 100, backoff: { delay: 0 } } });
    await service.ok("POST", `/v1/queues/${failing.queue}/jobs/batch`, jobs(50));
    const handler = await service.handler();
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    failing.answers = 410;
    await service.untilIdle();
    expect((await service.ok("GET", `/v1/queues/${failing.queue}`)).metrics.failed).toBe(50);
  });
});
