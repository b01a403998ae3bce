import { describe, expect } from "vitest";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";

const send = (service: Service, queue: string, body: unknown, headers: Record<string, string> = {}) =>
  service.api("POST", `/v1/queues/${queue}/jobs`, body, headers);
const KEYED = { payload: { to: "ada" }, idempotencyKey: "k" };

describe("a job that is sent again with its idempotency key", () => {
  test("a job that is sent again with its idempotency key is answered 200 with the first one, marked as a duplicate; nothing else is stored", async ({
    service,
  }) => {
    const queue = await service.queue();
    const first = await send(service, queue, KEYED);
    const again = await send(service, queue, KEYED);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(first.body).toMatchObject({ idempotencyKey: "k", state: "waiting" });
    expect(again.body).toEqual({ ...first.body, duplicate: true });
    expect((await service.ok("GET", `/v1/queues/${queue}/jobs`)).data).toEqual([first.body]);
  });

  test("a job that is sent again with its idempotency key is shown as it is now", async ({ service }) => {
    const handler = await service.handler();
    const first = await service.enqueue({ queue: handler.queue, ...KEYED });
    await service.untilState(first, "completed");
    const { attempts_log: _, ...record } = await service.job(first);
    expect((await send(service, handler.queue, KEYED)).body).toEqual({ ...record, duplicate: true });
    await service.untilIdle();
    expect(handler.received).toHaveLength(1);
  });

  test("a job that is sent again with its idempotency key is answered with no more of its payload than was just sent, however large the first one was", async ({
    service,
  }) => {
    const queue = await service.queue();
    const spaced = `{"payload":[1${" ".repeat(100_000)}],"idempotencyKey":"k"}`;
    const first = await send(service, queue, spaced);
    const again = await service.api(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      `[${'{"payload":[1],"idempotencyKey":"k"},'.repeat(99)}{"payload":[1],"idempotencyKey":"k"}]`,
    );
    expect([again.status, again.body.jobs.length, again.body.jobs[99]]).toEqual([200, 100, { ...first.body, duplicate: true }]);
    expect(again.text.length).toBeLessThan(100_000);
  });

  test("a job that is sent again with its idempotency key is marked in the answer to the enqueue alone", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, ...KEYED });
    await send(service, queue, KEYED);
    expect(await service.job({ id, queue })).not.toHaveProperty("duplicate");
    const { data } = await service.ok("GET", `/v1/queues/${queue}/jobs`);
    expect(data[0]).not.toHaveProperty("duplicate");
    expect(await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`)).not.toHaveProperty("duplicate");
  });

  test("a job that is sent again with its idempotency key counts as no execution", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, ...KEYED });
    await send(service, queue, KEYED);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(1);
  });

  test("a job that is sent again with its idempotency key is the same through failure, cancel and retry", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, ...KEYED });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    expect((await send(service, queue, KEYED)).body).toMatchObject({ id, state: "cancelled", duplicate: true });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${id}/retry`);
    expect((await send(service, queue, KEYED)).body).toMatchObject({ id, state: "waiting", idempotencyKey: "k", duplicate: true });
  });

  test.for<[string, object, object]>([
    ["with other white space and another order of members", { payload: { a: [1, { b: 1, c: 2 }], d: "x" } }, {}],
    ["with its defaults spelled out", { payload: 1 }, { delay: 0, priority: 0, backoff: { type: "exponential" } }],
    ["with the same moment in another zone", { payload: 1, run_at: "2027-01-01T00:00:00Z" }, { run_at: "2027-01-01T01:00:00+01:00" }],
  ])("a job that is sent again %s is the same", async ([what, job, spelled], { service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, ...job, idempotencyKey: "k" });
    const body = { idempotencyKey: "k", ...job, ...spelled };
    const text = what.includes("white space") ? '{ "idempotencyKey":"k", "payload": {"d":"x", "a":[1 , {"c":2,"b":1}]} }' : body;
    expect((await send(service, queue, text)).body).toMatchObject({ id, duplicate: true });
  });
});

describe("a known key with another body", () => {
  test.for<[string, object]>([
    ["another payload", { payload: { to: "alan" } }],
    ["digits that are equal as numbers", { payload: { to: "ada" }, raw: '{"to":"ada","n":1.0}' }],
    ["a delay", { ...KEYED, delay: 1 }],
    ["a moment", { ...KEYED, run_at: "2027-01-01T00:00:00Z" }],
    ["a tag", { ...KEYED, tag: "t" }],
    ["a priority", { ...KEYED, priority: 1 }],
    ["a concurrency key", { ...KEYED, concurrencyKey: "c" }],
    ["attempts", { ...KEYED, attempts: 3 }],
    ["a backoff", { ...KEYED, backoff: { delay: 1000 } }],
  ])("a known key with another body is refused, and changes nothing: %s", async ([, other], { service }) => {
    const queue = await service.queue();
    const first = await service.enqueue({ queue, ...KEYED });
    const { raw, ...job } = { raw: null, ...other } as { raw: string | null };
    const body = raw ? `{"payload":${raw},"idempotencyKey":"k"}` : { ...job, idempotencyKey: "k" };
    const reply = await send(service, queue, body);
    expect([reply.status, reply.body.error.code, reply.body.error.details]).toEqual([
      422,
      "IDEMPOTENCY_MISMATCH",
      { idempotencyKey: "k", index: 0 },
    ]);
    const { data } = await service.ok("GET", `/v1/queues/${queue}/jobs`);
    expect(data).toEqual([first]);
  });
});

describe("a known key", () => {
  test("a key is known in its queue alone", async ({ service }) => {
    const [one, two] = [await service.queue(), await service.queue()];
    const replies = [await send(service, one, KEYED), await send(service, two, KEYED), await send(service, two, KEYED)];
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 200]);
    expect(replies[2]?.body.id).toBe(replies[1]?.body.id);
  });

  test("a key is known in its workspace alone", async ({ service, node, database, clock }) => {
    const other = new Service(node, database, clock, await newWorkspace(database));
    const queues = [await service.queue(), await other.queue()] as const;
    expect(queues[0]).toBe(queues[1]);
    expect([(await send(service, queues[0], KEYED)).status, (await send(other, queues[1], { ...KEYED, payload: 2 })).status]).toEqual([
      201, 201,
    ]);
  });

  test("a key is known by its exact characters, up to 256 of them", async ({ service }) => {
    const queue = await service.queue();
    const keys = ["k", "K", " k", "ключ 🔑", '"\\', "x".repeat(256)];
    for (const idempotencyKey of keys) expect((await send(service, queue, { payload: 1, idempotencyKey })).status).toBe(201);
    for (const idempotencyKey of keys)
      expect((await send(service, queue, { payload: 1, idempotencyKey })).body).toMatchObject({ idempotencyKey, duplicate: true });
  });

  test("a key is known no longer when the finished job was removed: then it makes another", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, ...KEYED });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    // A different body is not a mismatch, because the first one is forgotten.
    const next = await send(service, queue, { ...KEYED, payload: 2 });
    expect(next.status).toBe(201);
    expect(next.body.id).not.toBe(id);
    expect((await send(service, queue, { ...KEYED, payload: 2 })).body).toMatchObject({ id: next.body.id, duplicate: true });
  });

  test("a key is known no longer when the failed job was purged", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const first = await service.enqueue({ queue: handler.queue, ...KEYED });
    await service.untilState(first, "failed");
    expect((await send(service, handler.queue, KEYED)).body).toMatchObject({ id: first.id, state: "failed" });
    await service.ok("POST", "/v1/dlq/purge", {});
    expect((await send(service, handler.queue, KEYED)).status).toBe(201);
  });

  test("a key is known no longer when the job is past retention", async ({ service, clock }) => {
    const workspace = await limitedTo(service, {});
    await setLimits(workspace, { retention_days: 7 });
    const queue = await workspace.queue();
    const { id } = await workspace.enqueue({ queue, ...KEYED });
    await workspace.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    const now = clock.nowMs();
    try {
      await clock.advance(7 * 86_400 - 1);
      expect((await send(workspace, queue, KEYED)).status).toBe(200);
      await clock.advance(1);
      expect((await send(workspace, queue, KEYED)).status).toBe(201);
    } finally {
      await clock.set(now);
    }
  });

  test("a key is known no longer when its queue was deleted and made anew", async ({ service }) => {
    const name = await service.queue();
    await service.enqueue({ queue: name, ...KEYED });
    await service.ok("DELETE", `/v1/queues/${name}`);
    await service.ok("POST", "/v1/queues", { name });
    expect((await send(service, name, KEYED)).status).toBe(201);
  });
});

describe("the header Idempotency-Key", () => {
  test("the header Idempotency-Key names the job as the body does", async ({ service }) => {
    const queue = await service.queue();
    const first = await send(service, queue, { payload: 1 }, { "Idempotency-Key": "h" });
    expect([first.status, first.body.idempotencyKey]).toEqual([201, "h"]);
    expect((await send(service, queue, { payload: 1, idempotencyKey: "h" })).body).toMatchObject({ id: first.body.id, duplicate: true });
    expect((await send(service, queue, { payload: 1, idempotencyKey: "h" }, { "idempotency-key": "h" })).status).toBe(200);
    expect((await send(service, queue, { payload: 2 }, { "Idempotency-Key": "h" })).status).toBe(422);
  });

  test.for<[string, string, object]>([
    ["that is not the body's", "other", KEYED],
    ["that is empty", "", { payload: 1 }],
    ["over 256 characters", "x".repeat(257), { payload: 1 }],
    ["of other characters than ASCII", "\u00e9", { payload: 1 }],
  ])("the header Idempotency-Key %s is refused", async ([, header, body], { service }) => {
    const queue = await service.queue();
    const reply = await send(service, queue, body, { "Idempotency-Key": header });
    expect([reply.status, reply.body.error.details.issues[0].path]).toEqual([400, "idempotency-key"]);
    expect((await service.ok("GET", `/v1/queues/${queue}/jobs`)).data).toEqual([]);
  });

  test("the header Idempotency-Key says nothing elsewhere", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    for (const [method, path] of [
      ["GET", `/v1/queues/${queue}`],
      ["DELETE", `/v1/queues/${queue}/jobs/${id}`],
    ] as const)
      expect((await service.api(method, path, undefined, { "Idempotency-Key": "h" })).status).toBe(200);
  });
});

test("a job with a key is started eagerly, once", async ({ service }) => {
  const handler = await service.handler();
  await Promise.all(Array.from({ length: 8 }, () => send(service, handler.queue, KEYED)));
  await until(() => handler.received.length > 0, "the callback");
  await service.untilIdle();
  expect(handler.received).toHaveLength(1);
});

test("a delayed job with a key comes due", async ({ service }) => {
  const handler = await service.handler();
  const job = await service.enqueue({ queue: handler.queue, ...KEYED, delay: 60 });
  expect((await send(service, handler.queue, { ...KEYED, delay: 60 })).body).toMatchObject({ id: job.id, state: "delayed" });
  await service.untilIdle();
  expect(await service.job(job)).toMatchObject({ state: "completed", idempotencyKey: "k" });
});

test("a queue that does not exist has no keys", async ({ service }) => {
  expect((await send(service, "absent", KEYED)).status).toBe(404);
});
