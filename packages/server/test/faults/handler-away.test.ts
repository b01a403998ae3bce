import { describe, expect } from "vitest";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const QUICKLY = { defaultJobOptions: { attempts: 100, backoff: { type: "exponential", delay: 20 } } };

describe("a handler that is down", () => {
  test("a handler that is down gets every job once it is up, and its refused connections are logged", async ({ stage }) => {
    const database = await stage.database();
    const { client } = await stage.node({ DATABASE_URL: database.url });
    const down = await stage.handler();
    const { url, port } = down;
    await down.close();
    const queue = await client.queue("mails", url, QUICKLY);

    const ids = [await client.enqueue(queue), ...(await client.enqueueMany(queue, 50))];
    await until(async () => (await client.ok("GET", `/v1/queues/${queue}`)).circuit.state === "open", "its circuit to open");
    const handler = await stage.handler(200, port);
    await until(async () => (await client.states(queue)).completed === 51, "every job to complete");

    expect(handler.received.map(({ body }) => body.id).toSorted()).toEqual(ids.toSorted());
    let refused = 0;
    for (const id of ids) {
      const { attempt, attempts_log: log } = await client.job(queue, id);
      refused += log.length - 1;
      expect(log.map((entry: { attempt: number }) => entry.attempt)).toEqual(Array.from({ length: attempt }, (_, n) => n + 1));
      expect(log.at(-1)).toMatchObject({ outcome: "completed", status: 200, error: null });
      for (const entry of log.slice(0, -1)) expect(entry).toMatchObject({ outcome: "failed", status: null, error: { code: "CONNECTION" } });
    }
    expect(refused).toBeGreaterThanOrEqual(20);
  });
});

describe("a handler that hangs", () => {
  test("a handler that hangs is given up after callback_timeout and called again", async ({ stage }) => {
    const database = await stage.database();
    const { client } = await stage.node({ DATABASE_URL: database.url });
    const handler = await stage.handler(({ body }) => (body.attempt === 1 ? "hang" : 200));
    const queue = await client.queue("mails", handler.url, { ...QUICKLY, callback_timeout: 5 });
    const ids = await client.enqueueMany(queue, 20);

    await until(async () => (await client.states(queue)).completed === 20, "every job to complete");
    expect(handler.aborted).toBe(20);
    for (const id of ids) {
      const { attempts_log: log } = await client.job(queue, id);
      expect(log).toMatchObject([
        { attempt: 1, outcome: "failed", status: null, error: { code: "TIMEOUT" } },
        { attempt: 2, outcome: "completed", status: 200, error: null },
      ]);
      expect(log[0].duration_ms).toBeGreaterThanOrEqual(5_000);
    }
  });

  test("a handler that hangs keeps no other queue waiting", async ({ stage }) => {
    const database = await stage.database();
    const { client } = await stage.node({ DATABASE_URL: database.url, TIDEMILL_CALLBACKS_IN_FLIGHT: "64" });
    const hanging = await stage.handler("hang");
    const answering = await stage.handler();
    const slow = await client.queue("slow", hanging.url, { callback_timeout: 900 });
    const other = await client.queue("other", answering.url);
    await client.enqueueMany(slow, 500);
    await until(() => hanging.open >= 32, "the hanging queue to have all that it may");

    await client.enqueue(other);
    await client.enqueueMany(other, 200);
    await until(async () => (await client.states(other)).completed === 201, "the other queue's jobs to complete");
    // At most half of the node's slots, however long the queue is.
    expect(hanging).toMatchObject({ open: 32, aborted: 0 });
  });
});
