import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { test } from "../harness/service.ts";

const replay = (
  service: { api: (method: string, path: string) => Promise<{ status: number; body: unknown }> },
  queue: string,
  id: string,
) => service.api("POST", `/v1/queues/${queue}/jobs/${id}/replay`);

test("a replayed job is the request that its handler got, signed with the secret of the queue", async ({ service }) => {
  const handler = await service.handler({ callback_headers: { "x-team": "billing" } });
  const job = await service.enqueue({ queue: handler.queue, payload: { n: 12 }, tag: "welcome" });
  await service.untilIdle();
  const { headers, body } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs/${job.id}/replay`);
  expect(body).toBe(handler.received[0]?.raw.toString());
  const signed = `${job.id}.${headers["X-Service-Timestamp"]}.${body}`;
  expect(headers).toMatchObject({
    "x-team": "billing",
    "X-Service-Job-Id": job.id,
    "X-Service-Attempt": "1",
    "X-Service-Signature": `v1,${createHmac("sha256", handler.secret).update(signed).digest("base64")}`,
  });
  expect(handler.received).toHaveLength(1);
});

test("templates of a replayed job stay templates", async ({ service }) => {
  await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "the-secret-value" });
  const queue = await service.queue({ callback_url: "http://127.0.0.1:9/", callback_headers: { "x-token": "${{ secrets.TOKEN }}" } });
  const job = await service.enqueue({ queue, payload: { token: "${{ secrets.TOKEN }}" }, delay: 60 });
  const { body } = await replay(service, queue, job.id);
  expect(body).toMatchObject({ headers: { "x-token": "${{ secrets.TOKEN }}" } });
  expect(JSON.stringify(body)).toContain('{\\"token\\":\\"${{ secrets.TOKEN }}\\"}');
  expect(JSON.stringify(body)).not.toContain("the-secret-value");
});

test("who replayed a job is in the audit log, and the job does not change", async ({ service }) => {
  const queue = await service.queue({ callback_url: "http://127.0.0.1:9/" });
  const job = await service.enqueue({ queue, delay: 60 });
  const before = await service.ok("GET", `/v1/queues/${queue}/jobs/${job.id}`);
  await replay(service, queue, job.id);
  const { data } = await service.ok("GET", "/v1/audit-events?event_type=job.replayed");
  expect(data).toMatchObject([{ actor_id: expect.stringMatching(/^key_/), resource_type: "job", resource_id: job.id, input: { queue } }]);
  expect(await service.ok("GET", `/v1/queues/${queue}/jobs/${job.id}`)).toEqual(before);
});

test("a job of a queue without a callback secret cannot be replayed", async ({ service }) => {
  const queue = await service.queue();
  const job = await service.enqueue({ queue });
  expect(await replay(service, queue, job.id)).toMatchObject({ status: 409, body: { error: { code: "INVALID_STATE" } } });
});

test("a job that does not exist cannot be replayed", async ({ service }) => {
  const queue = await service.queue({ callback_url: "http://127.0.0.1:9/" });
  expect(await replay(service, queue, "job_01kajv3k4ve6nsd9z5kgtzx0rw")).toMatchObject({ status: 404 });
});
