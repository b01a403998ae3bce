import { expect } from "vitest";
import { test } from "../harness/service.ts";
import { take, takeOne } from "../harness/workers.ts";

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

test("explain says that a job which nothing holds starts as soon as a worker asks, and when one last asked", async ({ service }) => {
  const queue = await service.queue();
  expect(await take(service, queue)).toEqual([]);
  const [first, second] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
  await service.advance(40);
  const explain = (id: string) => service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect(await explain(first.id)).toMatchObject({
    held_by: [],
    summary: "Next in line: it starts as soon as a worker asks for jobs and has room. One last asked 40 s ago.",
  });
  expect((await explain(second.id)).summary).toBe("Waiting in line behind 1 job.");
});

test("explain says that a queue has neither a callback_url nor a worker", async ({ service }) => {
  const queue = await service.queue();
  const { id } = await service.enqueue({ queue });
  const { held_by, summary } = await service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect([held_by, summary]).toEqual([["handler"], "Not running: the queue has neither a callback_url nor a worker."]);
});
