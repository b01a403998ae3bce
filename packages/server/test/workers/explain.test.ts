import { expect } from "vitest";
import { test, until } from "../harness/service.ts";
import { proofOf, take, takeOne } from "../harness/workers.ts";

test("explain says since when no worker has asked for a queue's jobs", async ({ service }) => {
  const queue = await service.queue({ concurrency: 1 });
  await service.enqueue({ queue });
  await takeOne(service, queue);
  const { id } = await service.enqueue({ queue });
  const explain = () => service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect((await explain()).held_by).toEqual(["queue_concurrency"]);
  await service.advance(240);
  const explained = await explain();
  expect(explained.held_by).toContain("handler");
  expect(explained.summary).toContain("no worker has asked for its jobs for 4 min");
});

test("explain says that a job which nothing holds starts as soon as a worker asks, and when one last called", async ({ service }) => {
  const queue = await service.queue();
  expect(await take(service, queue)).toEqual([]);
  const [first, second] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
  await service.advance(40);
  const explain = (id: string) => service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect(await explain(first.id)).toMatchObject({
    held_by: [],
    summary: "Next in line: it starts as soon as a worker asks for jobs and has room. One last called 40 s ago.",
  });
  expect((await explain(second.id)).summary).toBe("Waiting in line behind 1 job.");
});

test("explain says that a queue has neither a callback_url nor a worker", async ({ service }) => {
  const queue = await service.queue();
  const { id } = await service.enqueue({ queue });
  const { held_by, summary } = await service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect([held_by, summary]).toEqual([["handler"], "Not running: the queue has neither a callback_url nor a worker."]);
});

test("explain says that the workers of a queue are busy, and GET /v1/workers that they call, while they extend leases and ask for no more", async ({
  service,
}) => {
  const queue = await service.queue();
  const [, next, last] = [await service.enqueue({ queue }), await service.enqueue({ queue }), await service.enqueue({ queue })];
  const leases = [proofOf(await takeOne(service, queue, { version: "1.4.0" }))];
  for (let passed = 0; passed < 120; passed += 20) {
    await service.advance(20);
    expect(await service.ok("POST", "/v1/work/extend", { worker: "w1", leases })).toMatchObject({ leases: [{ ok: true }] });
  }
  await until(async () => {
    await service.advance(1);
    const [{ last_seen_at }] = (await service.ok("GET", "/v1/workers")).data;
    return service.clock.nowMs() - Date.parse(last_seen_at) < 60_000;
  }, "the extensions to be written");
  expect((await service.ok("GET", "/v1/workers")).data).toMatchObject([{ name: "w1", version: "1.4.0", queues: [queue], in_flight: 1 }]);
  const explain = (id: string) => service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  const busy = "All workers that ask for the queue's jobs hold some already.";
  const explained = await explain(next.id);
  expect(explained).toMatchObject({
    held_by: [],
    summary: `Next in line: it starts as soon as a worker has room for it. ${busy}`,
    estimated_start: null,
  });
  expect(explained.gates).toContainEqual(expect.objectContaining({ gate: "handler", holds: false, message: busy }));
  expect((await explain(last.id)).summary).toBe(`Waiting in line behind 1 job. ${busy}`);
});

test("explain says that a worker with a long lease is busy, though it has not called for longer than others may be silent", async ({
  service,
}) => {
  const queue = await service.queue();
  await service.enqueue({ queue });
  await takeOne(service, queue, { lease: 600 });
  const { id } = await service.enqueue({ queue });
  await service.advance(300);
  expect(await service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`)).toMatchObject({
    held_by: [],
    summary: "Next in line: it starts as soon as a worker has room for it. All workers that ask for the queue's jobs hold some already.",
  });
});
