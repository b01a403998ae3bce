import { VERSION } from "@tidemill/server";
import { describe, expect } from "vitest";
import { isSigned, type Received } from "../harness/handler.ts";
import { RawServer } from "../harness/raw-server.ts";
import { test, until } from "../harness/service.ts";

describe("the request of a callback", () => {
  test("the request of a callback is one POST with nothing but the headers of HTTP, of JSON, of the specification and of Standard Webhooks", async ({
    service,
    onTestFinished,
  }) => {
    const server = await RawServer.listen((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    onTestFinished(() => server.close());
    const queue = await service.queue({ callback_url: `${server.url}?a=1&b=%20` });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "completed");
    expect(server.requests).toHaveLength(1);
    const [line, ...headers] = (server.requests[0] ?? "").split("\r\n\r\n")[0]?.split("\r\n") ?? [];
    expect(line).toBe("POST /callback?a=1&b=%20 HTTP/1.1");
    expect(headers.map((header) => header.split(":")[0]?.toLowerCase()).sort()).toEqual([
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
      "webhook-id",
      "webhook-signature",
      "webhook-timestamp",
      "x-service-attempt",
      "x-service-job-id",
      "x-service-signature",
      "x-service-timestamp",
    ]);
    expect(headers).toContain(`X-Service-Job-Id: ${job.id}`);
    expect(headers).toContain("Content-Type: application/json");
    expect(headers).toContain(`User-Agent: Tidemill/${VERSION}`);
    expect(headers.map((header) => header.toLowerCase())).toContain(`host: 127.0.0.1:${server.port}`);
  });

  test("the request of a callback has a body of exactly the fields of the contract", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, payload: { to: "ada" }, tag: "welcome", attempts: 7 });
    await service.untilIdle();
    expect(handler.received[0]?.body).toEqual({
      id: job.id,
      queue: handler.queue,
      attempt: 1,
      attempts: 7,
      tag: "welcome",
      created_at: job.created_at,
      schedule: null,
      scheduled_for: null,
      payload: { to: "ada" },
    });
  });

  test("the request of a callback says null for the tag of a job that has none", async ({ service }) => {
    const handler = await service.handler();
    await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    expect(handler.received[0]?.body.tag).toBeNull();
  });

  test.for([
    ["an object with its keys in order", '{"b":1,"a":{"d":[],"c":{}}}'],
    ["white space", '{ "a" :\t[ 1 , 2 ]\n}'],
    ["digits that no double holds", '{"n":12345678901234567890.123456789,"e":1e400}'],
    ["a key given twice", '{"a":1,"a":2}'],
    ["text that is not ASCII", '{"to":"Zoë","text":"Grüße, 世界 🌊","rtl":"שלום"}'],
    ["escapes as they were written", '{"a":"\\u00e9\\n\\"\\\\\\u0000\\ud83c"}'],
    ["control words of templates that are none", '{"a":"{{ b }} $ {{ c }}","c":"$1 $& \\\\1"}'],
    ["null", "null"],
    ["a number", "-0.0"],
    ["text", '"text"'],
    ["a list", "[1,[2,[3]]]"],
    ["a member __proto__", '{"__proto__":{"a":1},"constructor":{"prototype":2}}'],
  ])("the request of a callback brings the payload as it was sent: %s", async ([, payload], { service }) => {
    const handler = await service.handler();
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, `{"tag":"é","payload":${payload}}`);
    await until(() => handler.received.length === 1);
    const [callback] = handler.received as [Received];
    expect(callback.raw).toContain(`"schedule":null,"scheduled_for":null,"payload":${payload}}`);
    expect(callback.headers["content-length"]).toBe(String(Buffer.byteLength(callback.raw)));
    expect(isSigned(callback, handler.secret)).toBe(true);
  });

  test("the request of a callback brings a payload of 1 MiB", async ({ service }) => {
    const handler = await service.handler();
    const payload = "é".repeat((1024 * 1024 - 2) / 2);
    await service.enqueue({ queue: handler.queue, payload });
    await until(() => handler.received.length === 1);
    expect(handler.payloads[0]).toBe(payload);
  });

  test("the request of a callback carries the queue's own headers, as they are at that attempt", async ({ service }) => {
    const handler = await service.handler({
      answers: [500, 200],
      callback_headers: { "X-Team": "billing", Authorization: "Bearer secret", "x-name": "Zoë" },
    });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_headers: { "X-Team": "sales" } });
    await service.untilIdle();
    const [first, second] = handler.received.map(({ headers }) => headers);
    expect(first).toMatchObject({ "x-team": "billing", authorization: "Bearer secret", "x-name": "Zoë" });
    expect(second).toMatchObject({ "x-team": "sales" });
    expect(second?.authorization).toBeUndefined();
  });

  test.for([
    "X-Service-Signature",
    "x-service-attempt",
    "User-Agent",
    "content-type",
    "Content-Length",
    "Host",
    "Transfer-Encoding",
    "Connection",
    "webhook-id",
    "Webhook-Timestamp",
    "WEBHOOK-SIGNATURE",
  ])("the request of a callback lets no header of the queue take the place of its own: %s", async (name, { service }) => {
    const reply = await service.api("POST", "/v1/queues", {
      name: "emails",
      callback_url: "http://127.0.0.1:9/",
      callback_headers: { [name]: "mine" },
    });
    expect(reply.status).toBe(400);
    expect(reply.body.error.code).toBe("VALIDATION_ERROR");
    const queue = await service.queue({ callback_headers: { "X-Team": "billing" } });
    const patched = await service.api("PATCH", `/v1/queues/${queue}`, { callback_headers: { [name]: "mine" } });
    expect([patched.status, patched.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("sends none of those that a queue has from before their names were reserved", async ({ service, database }) => {
    const handler = await service.handler({ callback_headers: { "X-Team": "billing" } });
    const stored = {
      "Webhook-Id": "mine",
      "webhook-SIGNATURE": "v1,mine",
      "webhook-timestamp": "1",
      "Webhook-Kept": "yes",
      "X-Team": "billing",
    };
    await database.query(
      `with changed as (update lane set revision = revision + 1 where name = $1 returning workspace_id, id)
       update queue set callback_headers = $2 from changed where queue.workspace_id = changed.workspace_id and queue.id = changed.id`,
      [handler.queue, JSON.stringify(stored)],
    );
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilIdle();
    const [callback] = handler.received as [Received];
    expect(callback.headers).toMatchObject({ "webhook-id": job.id, "webhook-kept": "yes", "x-team": "billing" });
    expect(callback.headers["webhook-signature"]).toBe(callback.headers["x-service-signature"]);
    expect(callback.headers["webhook-timestamp"]).toBe(callback.headers["x-service-timestamp"]);
  });
});
