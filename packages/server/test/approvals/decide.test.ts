import { describe, expect } from "vitest";
import { approvalQueue, approve, INVALID, reject } from "../harness/approvals.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";

const ABSENT = "job_01kajv3k4ve6nsd9z5kgtzx0rw";

describe("a job of an approval queue", () => {
  test("a job of an approval queue is held, however long", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue });
    expect(job).toMatchObject({ state: "pending_approval", approval: null });
    await service.advance(86_400);
    expect(await service.job(job)).toMatchObject({ state: "pending_approval", approval: null });
    expect(handler.received).toEqual([]);
  });

  test("a job of an approval queue says when it is due, as it will be stored", async ({ service }) => {
    const queue = await approvalQueue(service);
    const job = await service.enqueue({ queue, delay: 60 });
    expect(Date.parse(job.run_at)).toBe(service.clock.nowMs() + 60_000);
    expect(await service.job(job)).toMatchObject({ run_at: job.run_at });
  });

  test("a job of an approval queue is delivered once it is approved, and keeps who approved it", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue, payload: { amount: 7 } });
    const reply = await approve(service, job, { by: 'Ünal "the" boss', comment: "Line one.\nLine two." });
    const approval = {
      decision: "approved",
      by: 'Ünal "the" boss',
      comment: "Line one.\nLine two.",
      decided_at: new Date(service.clock.nowMs()).toISOString(),
    };
    expect([reply.status, reply.body]).toEqual([200, { ...job, state: "waiting", approval }]);
    await service.untilState(job, "completed");
    expect(await service.job(job)).toMatchObject({ attempt: 1, approval });
    expect(handler.received.map(({ body }) => body.payload)).toEqual([{ amount: 7 }]);
  });

  test("a job of an approval queue is finished when it is rejected, and keeps who rejected it and why", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue, tag: "t", concurrencyKey: "k" });
    await service.advance(5);
    const reply = await reject(service, job, { by: "ops", reason: "It was paid already." });
    const now = new Date(service.clock.nowMs()).toISOString();
    const approval = { decision: "rejected", by: "ops", comment: "It was paid already.", decided_at: now };
    expect([reply.status, reply.body]).toEqual([200, { ...job, state: "rejected", finished_at: now, approval }]);
    expect(await service.job(job)).toEqual({ ...reply.body, attempts_log: [] });
    expect((await service.ok("GET", `/v1/queues/${job.queue}`)).metrics).toMatchObject({ pending_approval: 0, rejected: 1 });
    expect((await service.ok("GET", "/v1/status")).jobs).toMatchObject({ pending_approval: 0, rejected: 1 });
    expect(handler.received).toEqual([]);
  });

  test.for([undefined, "", {}] as const)("a job of an approval queue may be decided without a word: %o", async (body, { service }) => {
    const queue = await approvalQueue(service);
    const [one, two] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    expect((await approve(service, one, body)).body.approval).toMatchObject({ decision: "approved", by: null, comment: null });
    expect((await reject(service, two, body)).body.approval).toMatchObject({ decision: "rejected", by: null, comment: null });
  });

  test("a job of an approval queue is delayed until it is due when it is approved before", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue, delay: 60 });
    expect((await approve(service, job)).body).toMatchObject({ state: "delayed", run_at: job.run_at });
    await service.advance(59);
    expect(handler.received).toEqual([]);
    await service.advance(1);
    await service.untilState(job, "completed");
  });

  test("a job of an approval queue is due from its approval on, and overtakes nobody who waited before", async ({ service }) => {
    const queue = await approvalQueue(service);
    const [late, early] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    await service.advance(1);
    await approve(service, early);
    await service.advance(1);
    const { body } = await approve(service, late);
    expect(body.run_at).toBe(new Date(service.clock.nowMs()).toISOString());
    const handler = await service.handler({});
    await service.ok("PATCH", `/v1/queues/${queue}`, { callback_url: handler.url, concurrency: 1 });
    await service.untilIdle();
    expect(handler.received.map(({ body: { id } }) => id)).toEqual([early.id, late.id]);
  });

  test("a job with a key in an approval queue waits its turn once it is approved", async ({ service }) => {
    const handler = await service.handler({ type: "approval", answers: "hang" });
    const jobs = [1, 2, 3].map((payload) => ({ payload, concurrencyKey: "k" }));
    const { jobs: held } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, jobs);
    for (const job of held) await approve(service, job);
    await until(() => handler.open === 1, "the first to start");
    const states = () => Promise.all(held.map(async (job: { id: string; queue: string }) => (await service.job(job)).state));
    expect(await states()).toEqual(["active", "waiting", "waiting"]);
    await service.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${held[0].id}`);
    await service.untilState(held[1], "active");
    expect(await states()).toEqual(["cancelled", "active", "waiting"]);
  });

  test("an undecided job of an approval queue can be cancelled", async ({ service }) => {
    const queue = await approvalQueue(service);
    const job = await service.enqueue({ queue });
    expect(await service.ok("DELETE", `/v1/queues/${queue}/jobs/${job.id}`)).toMatchObject({ state: "cancelled", approval: null });
  });
});

describe("a decision is refused", () => {
  test("a decision about a job that has been decided is refused", async ({ service }) => {
    const queue = await approvalQueue(service);
    const [one, two] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    const approved = (await approve(service, one, { by: "first" })).body;
    const rejected = (await reject(service, two, { by: "first" })).body;
    for (const decide of [approve, reject]) {
      const replies = [await decide(service, one, { by: "second" }), await decide(service, two, { by: "second" })];
      expect(replies.map(({ status, body }) => [status, body.error])).toMatchObject([
        [409, INVALID("waiting")],
        [409, INVALID("rejected")],
      ]);
    }
    expect(await service.job(one)).toEqual({ ...approved, attempts_log: [] });
    expect(await service.job(two)).toEqual({ ...rejected, attempts_log: [] });
  });

  test("a decision about a job that was cancelled, or that no approval queue holds, is refused", async ({ service }) => {
    const cancelled = await service.enqueue({ queue: await approvalQueue(service) });
    await service.ok("DELETE", `/v1/queues/${cancelled.queue}/jobs/${cancelled.id}`);
    const delayed = await service.enqueue({ queue: await service.queue(), delay: 60 });
    for (const decide of [approve, reject]) {
      expect((await decide(service, cancelled)).body.error).toMatchObject(INVALID("cancelled"));
      expect((await decide(service, delayed)).body.error).toMatchObject(INVALID("delayed"));
    }
  });

  test("a decision about a job that does not exist, or is another workspace's, is refused", async ({ service }) => {
    const queue = await approvalQueue(service);
    const { node, database, clock } = service;
    const other = new Service(node, database, clock, await newWorkspace(database));
    const theirs = await other.enqueue({ queue: await approvalQueue(other) });
    for (const decide of [approve, reject])
      for (const job of [
        { queue, id: ABSENT },
        { queue: "absent", id: theirs.id },
        { queue, id: theirs.id },
      ]) {
        const details =
          job.queue === "absent"
            ? { resource: "queue", name: "absent", suggestion: null }
            : { resource: "job", id: job.id, queue: job.queue };
        expect((await decide(service, job)).body).toEqual({ error: { code: "NOT_FOUND", message: expect.any(String), details } });
      }
    expect(await other.job(theirs)).toMatchObject({ state: "pending_approval" });
  });

  test.for([
    [approve, { by: "" }, "by"],
    [approve, { by: "x".repeat(257) }, "by"],
    [approve, { by: "a\0b" }, "by"],
    [approve, { by: null }, "by"],
    [approve, { comment: "x".repeat(4_097) }, "comment"],
    [approve, { reason: "x" }, "reason"],
    [reject, { reason: "x".repeat(4_097) }, "reason"],
    [reject, { reason: 7 }, "reason"],
    [reject, { comment: "x" }, "comment"],
  ] as const)("a malformed decision is refused: %o", async ([decide, body, path], { service }) => {
    const job = await service.enqueue({ queue: await approvalQueue(service) });
    const reply = await decide(service, job, body);
    expect([reply.status, reply.body.error.details.issues[0].path]).toEqual([400, path]);
    expect(await service.job(job)).toMatchObject({ state: "pending_approval", approval: null });
  });

  test("a decision is refused only when its words are longer than they may be", async ({ service }) => {
    const queue = await approvalQueue(service);
    const [one, two] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    const [by, words] = ["😀".repeat(256), "😀".repeat(4_096)];
    expect((await approve(service, one, { by, comment: words })).body.approval).toMatchObject({ by, comment: words });
    expect((await reject(service, two, { by, reason: words })).body.approval).toMatchObject({ by, comment: words });
  });
});
