import { describe, expect } from "vitest";
import { isSigned } from "../harness/handler.ts";
import { test } from "../harness/service.ts";

describe("delivery", () => {
  test("a job reaches its handler as a signed callback and completes with the answer as its result", async ({ service }) => {
    const handler = await service.handler({
      answers: { status: 200, headers: { "content-type": "application/json" }, body: '{"sent":12345678901234567890}' },
    });
    const job = await service.enqueue({ queue: handler.queue, payload: { to: "ada" }, tag: "welcome" });
    await service.untilIdle();
    expect(handler.received).toHaveLength(1);
    const [callback] = handler.received;
    expect(callback && isSigned(callback, handler.secret)).toBe(true);
    expect(callback?.body).toMatchObject({
      id: job.id,
      queue: handler.queue,
      attempt: 1,
      attempts: 3,
      tag: "welcome",
      payload: { to: "ada" },
      schedule: null,
    });
    const reply = await service.api("GET", `/v1/queues/${handler.queue}/jobs/${job.id}`);
    expect(reply.body).toMatchObject({ state: "completed", attempt: 1, last_error: null });
    expect(reply.text).toContain('"result":{"sent":12345678901234567890}');
  });

  test("a job that fails its last attempt moves to the dead-letter queue", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2 });
    await service.untilIdle();
    expect(handler.attempts).toEqual([1, 2]);
    expect(await service.job(job)).toMatchObject({ state: "failed", attempt: 2, last_error: { code: "HTTP_STATUS", status: 500 } });
  });
});
