import { describe, expect } from "vitest";
import { everythingStored } from "../harness/problem.ts";
import { type Service, test } from "../harness/service.ts";

const batch = (service: Service, queue: string, jobs: readonly object[]) => service.api("POST", `/v1/queues/${queue}/jobs/batch`, jobs);
const keyed = (key: string, payload: unknown = key) => ({ payload, idempotencyKey: key });
const listed = async (service: Service, queue: string): Promise<{ id: string; payload: unknown }[]> =>
  (await service.ok("GET", `/v1/queues/${queue}/jobs?limit=100`)).data;

describe("a batch with idempotency keys", () => {
  test("a batch with idempotency keys answers known jobs in their places, and stores the others", async ({ service }) => {
    const queue = await service.queue();
    const known = await service.enqueue({ queue, ...keyed("b") });
    const { status, body } = await batch(service, queue, [keyed("a"), keyed("b"), { payload: "none" }, keyed("c")]);
    expect(status).toBe(201);
    expect(body.jobs.map(({ payload, duplicate }: { payload: unknown; duplicate?: true }) => [payload, duplicate])).toEqual([
      ["a", undefined],
      ["b", true],
      ["none", undefined],
      ["c", undefined],
    ]);
    expect(body.jobs[1]).toEqual({ ...known, duplicate: true });
    expect((await listed(service, queue)).map(({ payload }) => payload).sort()).toEqual(["a", "b", "c", "none"]);
  });

  test("a batch with idempotency keys answers 200 when all its jobs are known", async ({ service }) => {
    const queue = await service.queue();
    const jobs = [keyed("a"), keyed("b")];
    const first = await batch(service, queue, jobs);
    const again = await batch(service, queue, jobs.toReversed());
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.jobs.map(({ id }: { id: string }) => id)).toEqual(first.body.jobs.map(({ id }: { id: string }) => id).toReversed());
    expect(await listed(service, queue)).toHaveLength(2);
  });

  test("a batch with idempotency keys takes a key that stands in it twice once", async ({ service }) => {
    const queue = await service.queue();
    const { status, body } = await batch(service, queue, [keyed("a"), { payload: 1 }, keyed("a")]);
    expect(status).toBe(201);
    expect(body.jobs[2]).toEqual({ ...body.jobs[0], duplicate: true });
    expect(body.jobs[0]).not.toHaveProperty("duplicate");
    expect(await listed(service, queue)).toHaveLength(2);
  });

  test("a batch of a thousand idempotency keys is answered as a whole a second time", async ({ service }) => {
    const queue = await service.queue();
    const jobs = Array.from({ length: 1_000 }, (_, n) => keyed(`k${n}`, n));
    const [first, again] = [await batch(service, queue, jobs), await batch(service, queue, jobs)];
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.jobs).toEqual(first.body.jobs.map((job: object) => ({ ...job, duplicate: true })));
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(1_000);
  });

  test("a batch with idempotency keys counts what it stored", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, ...keyed("b") });
    await batch(service, queue, [keyed("a"), keyed("b"), keyed("a")]);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(2);
  });

  test("a batch with idempotency keys reaches the handler, each job once", async ({ service }) => {
    const handler = await service.handler();
    await batch(service, handler.queue, [keyed("a"), keyed("b"), keyed("a")]);
    await batch(service, handler.queue, [keyed("b"), keyed("c")]);
    await service.untilIdle();
    expect(handler.payloads.toSorted()).toEqual(["a", "b", "c"]);
  });
});

test("a batch of known jobs shows their results as far as 4 MiB reach", async ({ service }) => {
  const result = JSON.stringify("r".repeat(60_000));
  const handler = await service.handler({ answers: { status: 200, body: result, headers: { "content-type": "application/json" } } });
  const jobs = Array.from({ length: 80 }, (_, n) => keyed(`k${n}`, n));
  await batch(service, handler.queue, jobs);
  await service.untilIdle();
  const { status, body } = await batch(service, handler.queue, jobs);
  expect(status).toBe(200);
  const results = body.jobs.map(({ result }: { result: unknown }) => (result === null ? null : JSON.stringify(result).length));
  const shown = Math.floor((4 * 1024 * 1024) / result.length);
  expect(results).toEqual(jobs.map((_, index) => (index < shown ? result.length : null)));
});

describe("a batch is refused whole, naming the key and its place,", () => {
  test("a batch whose key is known for another job is refused whole, naming the key and its place; its other keys stay free", async ({
    service,
  }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, ...keyed("b", "first") });
    const before = await everythingStored(service.database);
    const { status, body } = await batch(service, queue, [keyed("a"), keyed("b", "second"), keyed("c")]);
    expect([status, body.error.code, body.error.details]).toEqual([422, "IDEMPOTENCY_MISMATCH", { idempotencyKey: "b", index: 1 }]);
    expect(await everythingStored(service.database)).toEqual(before);
    // Different bodies, because those of the batch are forgotten.
    expect((await batch(service, queue, [keyed("a", 1), keyed("c", 1)])).status).toBe(201);
  });

  test("a batch that has two jobs of one key is refused whole, naming the key and its place", async ({ service }) => {
    const queue = await service.queue();
    const { status, body } = await batch(service, queue, [keyed("a"), keyed("b"), keyed("a", "other")]);
    expect([status, body.error.details]).toEqual([422, { idempotencyKey: "a", index: 2 }]);
    expect(await listed(service, queue)).toEqual([]);
  });
});
