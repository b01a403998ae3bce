import { describe, expect } from "vitest";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";

const ROOM = { ...NEVER_POLL, TIDEMILL_CALLBACKS_IN_FLIGHT: "8", TIDEMILL_DRAIN_SECONDS: "0" };
const test = testWith(ROOM).extend("other", async ({ service }, { onCleanup }) => {
  const other = await joinedBy(service, ROOM);
  onCleanup(() => other.node.stop());
  return other;
});

const batch = (service: Service, queue: string, count: number) =>
  service.ok(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    Array.from({ length: count }, (_, payload) => ({ payload })),
  );

/** Which nodes hold jobs of this test's workspace now. */
async function holders(service: Service): Promise<number[]> {
  const found = await service.database.query<{ id: number }>(
    "select distinct lease_id::int as id from job join api_key using (workspace_id) where hash = sha256($1::text::bytea) and state = 'active' order by 1",
    [service.key],
  );
  return found.map(({ id }) => id);
}

describe("two nodes on one database", () => {
  test("two nodes on one database deliver every job once", async ({ service, other }) => {
    const handler = await service.handler();
    const singles = (one: Service) =>
      Array.from({ length: 30 }, (_, index) => one.enqueue({ queue: handler.queue, payload: `single ${index}` }));
    await Promise.all([batch(service, handler.queue, 200), batch(other, handler.queue, 200), ...singles(service), ...singles(other)]);
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.completed === 460, "all jobs to complete");
    expect(handler.received).toHaveLength(460);
    expect(new Set(handler.received.map(({ body }) => body.id)).size).toBe(460);
    expect(new Set(handler.attempts)).toEqual(new Set([1]));
  });

  test("two nodes on one database share the work of one queue", async ({ service, other }) => {
    expect(other.node.url).not.toBe(service.node.url);
    const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
    await batch(service, handler.queue, 50);
    await until(async () => (await holders(service)).length === 2, "both nodes to have jobs");
    handler.answers = 200;
    handler.release();
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.completed === 50, "all jobs to complete");
    expect(new Set(handler.received.map(({ body }) => body.id)).size).toBe(50);
  });

  test("two nodes on one database wake each other: what one takes in goes out by the other when that alone has room", async ({
    service,
    other,
  }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900, paused: true });
    await batch(service, handler.queue, 100);
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await until(async () => (await holders(service)).length === 2, "both nodes to have jobs");
    const quick = await service.handler();
    await batch(service, quick.queue, 40);
    await until(() => quick.received.length === 40, "the jobs to be delivered");
    await batch(other, quick.queue, 40);
    await until(() => quick.received.length === 80, "the other jobs to be delivered");
  });

  test("a job that is put off on one node is not forgotten: it comes due without a poll", async ({ other }) => {
    const handler = await other.handler();
    const job = await other.enqueue({ queue: handler.queue, delay: 1 });
    await other.advance(1);
    await other.untilState(job, "completed");
  });

  test("a cancel at one node aborts the attempt at the other", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    for (const one of [other, service]) {
      const reply = await one.api("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`);
      expect(reply.status).toBe(one === other ? 200 : 204);
    }
    await until(() => handler.aborted === 1, "the request to be broken off");
  });

  test("a queue that is deleted at one node has its attempts aborted at the other", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
    await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the attempt");
    await other.ok("DELETE", `/v1/queues/${handler.queue}`);
    await until(() => handler.aborted === 1, "the request to be broken off");
  });

  test("a queue that is resumed at one node is served by both", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900, paused: true });
    await batch(service, handler.queue, 50);
    await other.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await until(async () => (await holders(service)).length === 2, "both nodes to have jobs");
  });

  test("a node that stops releases its jobs to the other, without using an attempt", async ({ service, other }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900, defaultJobOptions: { attempts: 1 } });
    await batch(service, handler.queue, 8);
    await until(async () => (await holders(service)).length === 2, "both nodes to have jobs");
    // One that came later would complete at once.
    await until(() => handler.received.length === 8, "all jobs to be delivered");
    handler.answers = 200;
    await other.node.stop();
    handler.release();
    await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}`)).metrics.completed === 8, "all jobs to complete");
    const { data } = await service.ok("GET", `/v1/queues/${handler.queue}/jobs`);
    const logs: string[][] = [];
    for (const job of data) logs.push((await service.job(job)).attempts_log.map(({ outcome }: { outcome: string }) => outcome));
    expect(logs).toContainEqual(["released", "completed"]);
    for (const log of logs) expect([["completed"], ["released", "completed"]]).toContainEqual(log);
  });
});

describe("a node whose lease is taken for run out", () => {
  test("a node whose lease seems to have run out loses its job to the other, and its late answer moves nothing (I3)", async ({
    service,
    other,
  }) => {
    const first = Promise.withResolvers<void>();
    const json = (body: string) => ({ status: 200, headers: { "content-type": "application/json" }, body });
    const handler = await service.handler({
      callback_timeout: 900,
      answers: async ({ body }) => {
        if (body.attempt > 1) return json('"second"');
        await first.promise;
        return json('"first"');
      },
    });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.received.length === 1, "the first attempt");
    const [holder] = await holders(service);
    await service.database.query("update lease set expires_at = now() - interval '1 second' where id = $1", [holder]);
    service.node.wake();
    other.node.wake();
    await service.untilState(job, "completed");
    first.resolve();
    // If anything settles the first attempt, it has done so before this one settles.
    const witness = await service.handler();
    for (const one of [service, other]) await one.untilState(await one.enqueue({ queue: witness.queue }), "completed");
    const record = await service.job(job);
    expect(record).toMatchObject({ state: "completed", result: "second", attempt: 2 });
    expect(record.attempts_log.map(({ attempt, outcome }: Record<string, unknown>) => [attempt, outcome])).toEqual([
      [1, "lost"],
      [2, "completed"],
    ]);
  });
});
