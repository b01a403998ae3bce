import { expect } from "vitest";
import { test } from "./harness/client.ts";
import { failureOf } from "./harness/failure.ts";

test("a list that is awaited is one page", async ({ service, clients: { proxy, tidemill } }) => {
  for (let n = 0; n < 3; n += 1) await service.queue();
  const page = await tidemill.queues.list({ limit: 2 });
  expect(page.data.map(({ name }) => name)).toEqual(["queue-3", "queue-2"]);
  expect(page.next_cursor).toBeTypeOf("string");
  const { data } = await tidemill.queues.list({ limit: 2, cursor: page.next_cursor as string });
  expect(data.map(({ name }) => name)).toEqual(["queue-1"]);
  expect(proxy.passed).toHaveLength(2);
});

test("a list that is iterated is all its records, page by page", async ({ service, clients: { proxy, tidemill } }) => {
  const queue = tidemill.queue<number>(await service.queue());
  await queue.enqueueMany(Array.from({ length: 5 }, (_, n) => ({ payload: n, tag: n === 2 ? "other" : "mine" })));
  const found: number[] = [];
  for await (const { payload } of queue.jobs.list({ tag: "mine", limit: 2 })) found.push(payload);
  expect(found).toEqual([4, 3, 1, 0]);
  expect(proxy.lines.slice(1).every((line) => line.includes("tag=mine") && line.includes("limit=2"))).toBe(true);
});

test("its pages can be iterated, too", async ({ service, clients: { tidemill } }) => {
  for (let n = 0; n < 3; n += 1) await service.queue();
  const sizes: number[] = [];
  for await (const { data } of tidemill.queues.list({ limit: 2 }).pages()) sizes.push(data.length);
  expect(sizes).toEqual([2, 1]);
});

test("a loop that is left asks for no more pages", async ({ service, clients: { proxy, tidemill } }) => {
  for (let n = 0; n < 3; n += 1) await service.queue();
  for await (const _queue of tidemill.queues.list({ limit: 1 })) break;
  expect(proxy.passed).toHaveLength(1);
});

test("nothing is sent before it is awaited or iterated", async ({ clients: { proxy, tidemill } }) => {
  tidemill.queues.list();
  await tidemill.status();
  expect(proxy.lines).toEqual(["GET /v1/status"]);
});

test("an error ends the loop", async ({ clients: { tidemill } }) => {
  const read = async () => {
    for await (const _job of tidemill.queue("absent").jobs.list()) throw new Error("There are no jobs.");
  };
  expect(await failureOf(read())).toMatchObject({ code: "NOT_FOUND" });
});
