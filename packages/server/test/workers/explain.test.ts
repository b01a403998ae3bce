import { expect } from "vitest";
import { test } from "../harness/service.ts";
import { takeOne } from "../harness/workers.ts";

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

test("explain says that a queue has neither a callback_url nor a worker", async ({ service }) => {
  const queue = await service.queue();
  const { id } = await service.enqueue({ queue });
  const { held_by, summary } = await service.ok("GET", `/v1/queues/${queue}/jobs/${id}/explain`);
  expect([held_by, summary]).toEqual([["handler"], "Not running: the queue has no callback_url or worker."]);
});
