import { describe, expect } from "vitest";
import { type Service, test, until } from "../harness/service.ts";
import { takeOne } from "../harness/workers.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE = { traceparent: PARENT, tracestate: "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7" };

async function enqueue(service: Service, queue: string, headers: Record<string, string>, job: object = {}): Promise<{ id: string }> {
  const { status, text, body } = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1, ...job }, headers);
  if (status !== 201) throw new Error(`The enqueue returned ${status}: ${text}`);
  return body;
}

describe("the trace of the request that enqueued a job", () => {
  test("comes with each attempt of the callback", async ({ service }) => {
    const handler = await service.handler({ answers: ({ body }) => (body.attempt === 1 ? 500 : 200) });
    await enqueue(service, handler.queue, TRACE);
    await service.untilIdle();
    expect(handler.received.map(({ headers }) => headers)).toMatchObject([TRACE, TRACE]);
  });

  test("comes with a job that was delayed, cancelled and restored", async ({ service }) => {
    const handler = await service.handler();
    const { id } = await enqueue(service, handler.queue, TRACE, { delay: 60 });
    const at = `/v1/queues/${handler.queue}/jobs/${id}`;
    await service.ok("DELETE", at);
    await service.ok("POST", `${at}/retry`);
    await service.untilIdle();
    expect(handler.received.map(({ headers }) => headers)).toMatchObject([TRACE]);
  });

  test("comes with all jobs of a batch", async ({ service }) => {
    const handler = await service.handler();
    await service.api("POST", `/v1/queues/${handler.queue}/jobs/batch`, [{ payload: 1 }, { payload: 2 }], { traceparent: PARENT });
    await until(() => handler.received.length === 2, "both jobs to be delivered");
    for (const { headers } of handler.received) {
      expect(headers.traceparent).toBe(PARENT);
      expect(headers).not.toHaveProperty("tracestate");
    }
  });

  test("comes with a job that a worker takes", async ({ service }) => {
    const queue = await service.queue();
    await enqueue(service, queue, TRACE);
    await enqueue(service, queue, {});
    expect(await takeOne(service, queue)).toMatchObject(TRACE);
    expect(await takeOne(service, queue)).toMatchObject({ traceparent: null, tracestate: null });
  });

  test("makes no difference to an idempotency key", async ({ service }) => {
    const queue = await service.queue();
    await enqueue(service, queue, TRACE, { idempotencyKey: "a" });
    const { status } = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1, idempotencyKey: "a" });
    expect(status).toBe(200);
  });

  test.for([
    ["an unknown form", { traceparent: "abc" }],
    ["more fields than version 00 has", { traceparent: `${PARENT}-00` }],
    ["the version ff", { traceparent: PARENT.replace("00-", "ff-") }],
    ["a trace id of zeros", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }],
    ["a parent id of zeros", { traceparent: `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01` }],
    ["only a tracestate", { tracestate: "congo=1" }],
  ] as const)("is ignored when it has %s", async ([, headers], { service }) => {
    const queue = await service.queue();
    await enqueue(service, queue, headers);
    expect(await takeOne(service, queue)).toMatchObject({ traceparent: null, tracestate: null });
  });

  test("keeps its parent when its tracestate is too long", async ({ service }) => {
    const queue = await service.queue();
    await enqueue(service, queue, { traceparent: PARENT, tracestate: `congo=${"x".repeat(507)}` });
    expect(await takeOne(service, queue)).toMatchObject({ traceparent: PARENT, tracestate: null });
  });

  test("cannot be set by a queue", async ({ service }) => {
    for (const name of ["traceparent", "TraceState"]) {
      const body = { name: "traced", callback_url: "http://127.0.0.1:9/", callback_headers: { [name]: PARENT } };
      expect((await service.api("POST", "/v1/queues", body)).status).toBe(400);
    }
  });
});
