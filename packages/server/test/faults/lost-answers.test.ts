import { describe, expect } from "vitest";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";
import { isClaim, isEnqueue, isSettle } from "../harness/statements.ts";

// The connection to the database breaks after a commit and before its answer: the node cannot know what was carried out.
describe("an answer of the database that is lost", () => {
  test("jobs reach their handler all the same when the database's answer to a claim is lost", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const { client } = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
    const handler = await stage.handler();
    const queue = await client.queue("mails", handler.url);
    const cut = wire.cutResponse(isClaim(5));
    const ids = await client.enqueueMany(queue, 5);
    await cut;

    await until(async () => (await client.states(queue)).completed === 5, "the jobs to complete");
    expect(handler.received.map(({ body }) => body.id).toSorted()).toEqual(ids.toSorted());
    for (const id of ids) {
      const { attempt, attempts_log: log } = await client.job(queue, id);
      expect(log.map((entry: { attempt: number }) => entry.attempt)).toEqual(Array.from({ length: attempt }, (_, n) => n + 1));
    }
  });

  test("a caller is told 503 when the database's answer to an enqueue is lost, and no job stays behind that nobody delivers", async ({
    stage,
  }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const { client } = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
    const handler = await stage.handler();
    const queue = await client.queue("mails", handler.url);
    const cut = wire.cutResponse(isEnqueue);
    expect(await client.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1 })).toMatchObject({
      status: 503,
      body: { error: { code: "UNAVAILABLE" } },
    });
    await cut;

    await until(async () => (await database.query("select from job")).length === 0, "the job to be delivered, or gone");
    expect((await client.states(queue)).completed).toBe(handler.received.length);
  });

  test("a job is settled once when the database's answer to a settle is lost", async ({ stage }) => {
    const database = await stage.database();
    const wire = await stage.wire(database);
    const node = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
    const handler = await stage.handler([500, 200]);
    const queue = await node.client.queue("mails", handler.url, { defaultJobOptions: { backoff: { type: "exponential", delay: 20 } } });
    const job = await node.client.enqueue(queue);
    await until(async () => (await node.client.job(queue, job)).state === "completed", "the job to complete");

    handler.answers = "hang";
    const id = await node.client.enqueue(queue);
    await until(() => handler.open === 1, "the attempt to be under way");
    const cut = wire.cutResponse(isSettle);
    handler.release();
    await cut;
    await until(async () => (await node.client.job(queue, id)).state === "completed", "the job to complete");
    expect(await node.client.job(queue, id)).toMatchObject({ attempt: 1, attempts_log: [{ attempt: 1, outcome: "completed" }] });
    expect(handler.received).toHaveLength(3);
    expect((await node.client.states(queue)).completed).toBe(2);
  });
});
