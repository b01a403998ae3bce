import { describe, expect } from "vitest";
import { decideSharesAcrossWorkspaces } from "#jobs";
import { rows, sql } from "#kernel";
import { markLaneDeleted } from "#lanes";
import { approvalQueue, approve } from "../harness/approvals.ts";
import { laneOf, test, uuidOfJob } from "../harness/engine.ts";
import { inTurn } from "../harness/in-turn.ts";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

describe("a job that nobody decides in its queue's time", () => {
  test("a job that nobody decides in its queue's time is rejected, by nobody, at that moment and not before", async ({ service }) => {
    const job = await service.enqueue({ queue: await approvalQueue(service, { approval: { timeout: 60 } }) });
    await service.advance(59);
    expect(await service.job(job)).toMatchObject({ state: "pending_approval", approval: null });
    await service.advance(1);
    const now = new Date(service.clock.nowMs()).toISOString();
    const approval = { decision: "rejected", by: null, comment: null, decided_at: now };
    expect(await service.job(job)).toMatchObject({ state: "rejected", finished_at: now, approval });
    expect((await service.ok("GET", `/v1/queues/${job.queue}`)).metrics).toMatchObject({ pending_approval: 0, rejected: 1 });
  });

  test("a job that nobody decides in its queue's time is approved and delivered, when the queue says so", async ({ service }) => {
    const handler = await service.handler({ type: "approval", approval: { timeout: 60, on_timeout: "approve" } });
    const job = await service.enqueue({ queue: handler.queue, concurrencyKey: "k" });
    await service.advance(60);
    await service.untilState(job, "completed");
    const now = new Date(service.clock.nowMs()).toISOString();
    const approval = { decision: "approved", by: null, comment: null, decided_at: now };
    expect(await service.job(job)).toMatchObject({ run_at: now, approval });
  });

  test("a job that nobody decides in its queue's time is approved and delayed, when it is not due yet", async ({ service }) => {
    const handler = await service.handler({ type: "approval", approval: { timeout: 60, on_timeout: "approve" } });
    const job = await service.enqueue({ queue: handler.queue, delay: 90 });
    await service.advance(60);
    expect(await service.job(job)).toMatchObject({ state: "delayed", run_at: job.run_at, approval: { decision: "approved" } });
    await service.advance(30);
    await service.untilState(job, "completed");
  });

  test("a job that nobody decides in its queue's time fares as the queue says then, not as it did when the job came", async ({
    service,
  }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60, on_timeout: "reject" } });
    const job = await service.enqueue({ queue });
    await service.ok("PATCH", `/v1/queues/${queue}`, { approval: { timeout: 600, on_timeout: "approve" } });
    await service.advance(60);
    expect(await service.job(job)).toMatchObject({ state: "waiting", approval: { decision: "approved" } });
  });

  test("a job that nobody decides in its queue's time waits on for ever, when its queue has no time for that any more", async ({
    service,
  }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const job = await service.enqueue({ queue });
    await service.ok("PATCH", `/v1/queues/${queue}`, { approval: { timeout: null } });
    await service.advance(60);
    await service.ok("PATCH", `/v1/queues/${queue}`, { approval: { timeout: 60 } });
    await service.advance(86_400);
    expect(await service.job(job)).toMatchObject({ state: "pending_approval", approval: null });
    expect((await approve(service, job)).status).toBe(200);
  });

  test("a job that came before the queue had a time to decide waits on", async ({ service }) => {
    const queue = await approvalQueue(service);
    const job = await service.enqueue({ queue });
    await service.ok("PATCH", `/v1/queues/${queue}`, { approval: { timeout: 1 } });
    const later = await service.enqueue({ queue });
    await service.advance(10);
    expect([await service.job(job), await service.job(later)]).toMatchObject([{ state: "pending_approval" }, { state: "rejected" }]);
  });

  test("a job that nobody decides in its queue's time stays as it was, when it was decided before", async ({ service }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const job = await service.enqueue({ queue });
    await approve(service, job, { by: "ops" });
    await service.advance(120);
    expect(await service.job(job)).toMatchObject({ state: "waiting", approval: { by: "ops" } });
  });

  test("a job that nobody decides in its queue's time is left to the sweep, when its queue was deleted", async ({ service, engine }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60, on_timeout: "approve" } });
    const job = await service.enqueue({ queue });
    const { workspaceId } = await laneOf(service, queue);
    // All in one transaction: otherwise the sweep, or the node's own decisions, could come in between.
    const found = await engine.transaction(async (tx) => {
      await tx.query(sql`select from job where id = ${uuidOfJob(job)} for update`);
      await service.clock.advance(60);
      await markLaneDeleted(tx, workspaceId, "queue", queue);
      await decideSharesAcrossWorkspaces(tx, [workspaceId], { maxJobs: 10, maxWeight: 10, bytesPerWeight: 8_000 });
      return rows(tx, sql`select state, decide_at from job where id = ${uuidOfJob(job)}`);
    });
    expect(found).toEqual([{ state: "pending_approval", decide_at: null }]);
  });
});

test("a job that a schedule made is held, and rejected in time; an overlap counts it while it is", async ({ service }) => {
  const minuteMs = 60_000;
  await service.moveTo(Math.ceil(service.clock.nowMs() / minuteMs) * minuteMs);
  const queue = await approvalQueue(service, { approval: { timeout: 90 } });
  const made = { name: `of-${queue}`, queue, cron: "* * * * *", timezone: "UTC", overlap: "skip" };
  await service.ok("POST", "/v1/schedules", made);
  const held = async () => (await service.ok("GET", `/v1/approvals?queue=${queue}`)).data.length;
  await service.advance(60);
  expect(await held()).toBe(1);
  await service.advance(60);
  expect([await held(), (await service.ok("GET", `/v1/schedules/${made.name}`)).last_skip]).toMatchObject([1, { reason: "overlap" }]);
  await service.advance(30);
  expect(await held()).toBe(0);
  await service.ok("DELETE", `/v1/schedules/${made.name}`);
});

describe("many that are due at once", () => {
  test("many jobs that are due at once are decided in workspaces' turns, all of them once", async ({ service, database }) => {
    const { node, clock } = service;
    const others = await Promise.all([1, 2, 3].map(async () => new Service(node, database, clock, await newWorkspace(database))));
    for (const [index, each] of [service, ...others].entries()) {
      const queue = await approvalQueue(each, { approval: { timeout: 60, on_timeout: index % 2 ? "approve" : "reject" } });
      const batch = Array.from({ length: index === 0 ? 1_000 : 30 }, (_, payload) => ({ payload, concurrencyKey: `k${payload % 7}` }));
      await each.ok("POST", `/v1/queues/${queue}/jobs/batch`, batch);
    }
    await service.advance(60);
    for (const [index, each] of [service, ...others].entries()) {
      const { jobs } = await each.ok("GET", "/v1/status");
      const count = index === 0 ? 1_000 : 30;
      expect(jobs).toMatchObject({ pending_approval: 0, waiting: index % 2 ? count : 0, rejected: index % 2 ? 0 : count });
    }
  });

  test("many jobs that are due at once are decided once by three nodes that race for them", async ({ service, database, engine }) => {
    const others = [await joinedBy(service, NEVER_POLL), await joinedBy(service, NEVER_POLL)];
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const batch = Array.from({ length: 1_000 }, (_, payload) => ({ payload }));
    await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, batch);
    await service.clock.advance(60);
    // All three have a share of the jobs in hand before any has decided its own.
    const wakes = [...others, service].map(
      ({ node }) =>
        () =>
          node.wake(),
    );
    await inTurn(engine, sql`lock table audit_event in share mode`, wakes);
    await service.advance(0);
    for (const other of others) await other.node.stop();
    expect((await service.ok("GET", "/v1/status")).jobs).toMatchObject({ pending_approval: 0, rejected: 1_000 });
    const { workspaceId } = await laneOf(service, queue);
    const told = await database.query(
      "select count(*)::int as events, count(distinct resource_id)::int as jobs from audit_event where workspace_id = $1 and event_type = 'job.rejected'",
      [workspaceId],
    );
    expect(told).toEqual([{ events: 1_000, jobs: 1_000 }]);
  });

  test("many jobs that are due at once do not suffer from a workspace whose jobs cannot be decided", async ({ service, database }) => {
    const { node, clock } = service;
    const other = new Service(node, database, clock, await newWorkspace(database));
    const bad = await service.enqueue({ queue: await approvalQueue(service, { approval: { timeout: 60 } }) });
    const good = await other.enqueue({ queue: await approvalQueue(other, { approval: { timeout: 60 } }) });
    const { workspaceId } = await laneOf(service, bad.queue);
    await database.query(`alter table audit_event add constraint refused check (workspace_id <> '${workspaceId}') not valid`);
    try {
      await clock.advance(60);
      node.wake();
      await other.untilState(good, "rejected");
      expect(await service.job(bad)).toMatchObject({ state: "pending_approval", approval: null });
    } finally {
      await database.query("alter table audit_event drop constraint refused");
    }
    await until(async () => {
      node.wake();
      return (await service.job(bad)).state === "rejected";
    }, "the other to be decided after all");
  });
});
