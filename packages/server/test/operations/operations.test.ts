import { describe, expect } from "vitest";
import { sql, type Transactional, uuidOf, type WorkspaceId } from "#kernel";
import { executeNext } from "../../src/operations/execute.ts";
import { startOperation } from "../../src/operations/start.ts";
import { auditLog, ids } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { laneOf, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { hold } from "../harness/locks.ts";
import { putOperation, quiet } from "../harness/operations.ts";
import { operate } from "../harness/operator.ts";
import { overlap, type Run, within } from "../harness/overlap.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

const ACTIONS = ["retry", "cancel", "remove"] as const;

/** Starts an operation and waits until it has ended. */
async function run(service: Service, action: (typeof ACTIONS)[number], body: object) {
  const started = await service.ok("POST", `/v1/jobs/${action}`, body);
  await until(async () => (await service.ok("GET", `/v1/operations/${started.id}`)).state !== "running", "the operation to end");
  return { started, ended: await service.ok("GET", `/v1/operations/${started.id}`) };
}

/** The node's own look for operations may execute a part of one. */
const untilNoneRuns = (database: TestDatabase, { workspaceId }: { workspaceId: WorkspaceId }) =>
  until(
    async () => (await database.query("select from operation where workspace_id = $1 and state = 'running'", [workspaceId])).length === 0,
    "the operation to end",
  );

const stateOf = async (service: Service, job: { id: string; queue: string }) => (await service.job(job)).state;

/** Jobs in every state that they can have, by state. */
async function everyState(service: Service) {
  const handler = await service.handler({ answers: ({ body }) => (body.payload === "failed" ? 410 : 200) });
  const pulled = await service.queue();
  const approvals = await service.queue({ type: "approval" });
  const enqueue = (queue: string, payload: string, more = {}) => service.enqueue({ queue, payload, ...more });
  const jobs = {
    completed: await enqueue(handler.queue, "completed"),
    failed: await enqueue(handler.queue, "failed"),
    cancelled: await enqueue(pulled, "cancelled"),
    rejected: await enqueue(approvals, "rejected"),
    undecided: await enqueue(approvals, "undecided"),
    pending: await enqueue(approvals, "pending"),
    delayed: await enqueue(pulled, "delayed", { delay: 60 }),
    active: await enqueue(pulled, "active", { concurrencyKey: "k", priority: 1 }),
    blocked: await enqueue(pulled, "blocked", { concurrencyKey: "k" }),
    waiting: await enqueue(pulled, "waiting"),
  };
  await service.untilState(jobs.completed, "completed");
  await service.untilState(jobs.failed, "failed");
  await service.ok("DELETE", `/v1/queues/${pulled}/jobs/${jobs.cancelled.id}`);
  await service.ok("DELETE", `/v1/queues/${approvals}/jobs/${jobs.undecided.id}`);
  await service.ok("POST", `/v1/queues/${approvals}/jobs/${jobs.rejected.id}/reject`);
  await service.ok("POST", `/v1/queues/${pulled}/jobs/claim`, { worker: "w", limit: 1 });
  expect(await stateOf(service, jobs.active)).toBe("active");
  return { ...jobs, pulled, handler };
}

/** Where the kept counts differ from the jobs. */
const drift = (service: Service) =>
  service.database.query("select * from count_drift((select workspace_id from api_key where hash = sha256($1::text::bytea)))", [
    service.key,
  ]);

describe("an operation on many jobs", () => {
  test("a retry of all jobs retries those that a retry of one job would, each as that does", async ({ service }) => {
    const jobs = await everyState(service);
    jobs.handler.answers = 200;
    const { started, ended } = await run(service, "retry", { filter: {} });
    expect(started).toMatchObject({
      action: "retry",
      state: "running",
      filter: {},
      ids: null,
      matched: 4,
      matched_exact: true,
      done: 0,
      finished_at: null,
    });
    expect(ended).toMatchObject({ id: started.id, state: "completed", matched: 4, done: 4, skipped: 0, finished_at: expect.any(String) });
    await service.untilState(jobs.failed, "completed");
    expect(await service.job(jobs.failed)).toMatchObject({ attempt: 2, attempts: 4 });
    expect(await stateOf(service, jobs.cancelled)).toBe("waiting");
    expect(await stateOf(service, jobs.rejected)).toBe("waiting");
    expect(await stateOf(service, jobs.undecided)).toBe("pending_approval");
    expect(await stateOf(service, jobs.completed)).toBe("completed");
    expect(await stateOf(service, jobs.active)).toBe("active");
    expect(await drift(service)).toEqual([]);
  });

  test("a cancel of all jobs cancels those that have not finished, and tells the worker of the one that it holds", async ({ service }) => {
    const jobs = await everyState(service);
    const { ended } = await run(service, "cancel", { filter: {} });
    expect(ended).toMatchObject({ state: "completed", matched: 5, done: 5, skipped: 0 });
    for (const job of [jobs.pending, jobs.delayed, jobs.active, jobs.blocked, jobs.waiting])
      expect(await stateOf(service, job)).toBe("cancelled");
    expect((await service.job(jobs.active)).attempts_log).toMatchObject([{ attempt: 1, outcome: "cancelled" }]);
    expect(await stateOf(service, jobs.failed)).toBe("failed");
    const told = await service.ok("POST", "/v1/work", { worker: "w", queues: [jobs.pulled], wait: 0 });
    expect(told.cancelled).toEqual([jobs.active.id]);
    expect(await drift(service)).toEqual([]);
  });

  test("a cancel of the job that holds a key lets the next one of the key start", async ({ service }) => {
    const jobs = await everyState(service);
    await run(service, "cancel", { ids: [jobs.active.id, jobs.waiting.id] });
    const { jobs: claimed } = await service.ok("POST", `/v1/queues/${jobs.pulled}/jobs/claim`, { worker: "w", limit: 10 });
    expect(claimed.map(({ id }: { id: string }) => id)).toEqual([jobs.blocked.id]);
  });

  test("a removal of all jobs removes those that have finished", async ({ service }) => {
    await everyState(service);
    const { ended } = await run(service, "remove", { filter: {} });
    expect(ended).toMatchObject({ state: "completed", matched: 5, done: 5 });
    const left = (await service.ok("GET", "/v1/jobs")).data.map(({ payload }: { payload: string }) => payload);
    expect(left).toEqual(["waiting", "blocked", "active", "delayed", "pending"]);
    expect(await drift(service)).toEqual([]);
  });

  test("an operation is for what its filter matches, or for the jobs of its ids that the action can change", async ({ service }) => {
    const jobs = await everyState(service);
    const byFilter = await run(service, "cancel", { filter: { queue: jobs.pulled, state: "waiting,completed" } });
    expect(byFilter.ended).toMatchObject({ matched: 2, done: 2 });
    expect(await stateOf(service, jobs.delayed)).toBe("delayed");
    const byId = await run(service, "retry", {
      ids: [jobs.failed.id, jobs.delayed.id, jobs.cancelled.id, jobs.failed.id, "job_01kajv3k4ve6nsd9z5kgtzx0rw"],
    });
    expect(byId.ended).toMatchObject({ filter: null, ids: 4, matched: 2, matched_exact: true, done: 2, skipped: 0 });
    expect(await stateOf(service, jobs.cancelled)).toBe("waiting");
  });

  test("an operation is audited at its start and at its end, as done by whoever asked for it", async ({ service }) => {
    const jobs = await everyState(service);
    const { started } = await run(service, "cancel", { filter: { queue: jobs.pulled } });
    const { data } = await service.ok("GET", "/v1/audit-events?resource_type=operation");
    const input = { action: "cancel", filter: { queue: jobs.pulled } };
    const common = { actor_id: started.actor_id, resource_id: started.id, input };
    expect(data).toMatchObject([
      { ...common, event_type: "operation.completed", output: { done: 4, skipped: 0 } },
      { ...common, event_type: "operation.started", output: { matched: 4 } },
    ]);
    expect(started.actor_id).toMatch(/^key_/);
  });

  test.for([
    [{}, ""],
    [{ filter: {}, ids: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"] }, ""],
    [{ ids: [] }, "ids"],
    [{ filter: { state: "completed,active" } }, "filter.state"],
    [{ filter: { colour: "red" } }, "filter.colour"],
  ] as const)("a retry of %j is refused", async ([body, path], { service }) => {
    const reply = await service.api("POST", "/v1/jobs/retry", body);
    expect([reply.status, reply.body.error.code, reply.body.error.details.issues[0].path]).toEqual([400, "VALIDATION_ERROR", path]);
  });

  test("operations are listed, newest first, and another workspace sees none of them", async ({ service, node, database, clock }) => {
    const queue = await service.queue();
    const made: string[] = [];
    for (let at = 0; at < 3; at += 1) made.unshift((await run(service, "cancel", { filter: { queue } })).started.id);
    const first = await service.ok("GET", "/v1/operations?limit=2");
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(made.slice(0, 2));
    const { data, next_cursor } = await service.ok("GET", `/v1/operations?limit=2&cursor=${first.next_cursor}`);
    expect([data.map(({ id }: { id: string }) => id), next_cursor]).toEqual([made.slice(2), null]);
    const other = new Service(node, database, clock, await newWorkspace(database));
    expect((await other.ok("GET", "/v1/operations")).data).toEqual([]);
    expect((await other.api("GET", `/v1/operations/${made[0]}`)).status).toBe(404);
    expect((await other.api("POST", `/v1/operations/${made[0]}/cancel`)).status).toBe(404);
  });
});

describe("the execution of operations", () => {
  test("an operation on more jobs than a portion has reaches all of them once", async ({ service, database }) => {
    const queue = await service.queue({ paused: true });
    const lane = await laneOf(service, queue);
    await putJobs(database, lane, { state: "failed", count: 1_203 });
    const { ended } = await run(service, "retry", { filter: { state: "failed" } });
    expect(ended).toMatchObject({ state: "completed", matched: 1_203, done: 1_203, skipped: 0 });
    expect(await service.jobStates()).toEqual({ waiting: 1_203 });
  });

  test("several nodes that execute at once change each job once", async ({ service, database, engine }) => {
    const lane = await laneOf(service, await service.queue({ paused: true }));
    await putJobs(database, lane, { state: "failed", count: 1_100 });
    await putOperation(database, lane.workspaceId);
    const node = async () => {
      while (await executeNext({ ...quiet, database: engine }));
    };
    await Promise.all([node(), node(), node(), node()]);
    await untilNoneRuns(database, lane);
    const [operation] = await database.query("select state, done::int, skipped::int from operation where workspace_id = $1", [
      lane.workspaceId,
    ]);
    expect(operation).toEqual({ state: "completed", done: 1_100, skipped: 0 });
  });

  test("a job that an attempt completes while it is being cancelled is either, and counted once", async ({ service }) => {
    const queue = await service.queue();
    const jobs = await Promise.all(Array.from({ length: 40 }, (_, payload) => service.enqueue({ queue, payload })));
    const { jobs: claimed } = await service.ok("POST", "/v1/work", { worker: "w", queues: [queue], limit: 40, wait: 0 });
    expect(claimed).toHaveLength(40);
    const settle = claimed.map(({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token, outcome: "completed" }));
    const [{ settled }, { ended }] = await Promise.all([
      service.ok("POST", "/v1/work", { worker: "w", queues: [queue], wait: 0, settle }),
      run(service, "cancel", { filter: { queue } }),
    ]);
    const completed = settled.filter(({ ok }: { ok: boolean }) => ok).length;
    const states = await Promise.all(jobs.map((job) => stateOf(service, job)));
    expect(states.filter((state) => state === "completed")).toHaveLength(completed);
    expect(states.filter((state) => state === "cancelled")).toHaveLength(ended.done);
    expect(completed + ended.done).toBe(40);
  });

  test("jobs that were enqueued or failed after the request stay as they are", async ({ service, database, engine }) => {
    const lane = await laneOf(service, await service.queue({ paused: true }));
    await putJobs(database, lane, { state: "failed", count: 2 });
    await putOperation(database, lane.workspaceId);
    await putJobs(database, lane, { state: "failed", count: 3, finishedAt: "moment() + interval '1 second'" });
    while (await executeNext({ ...quiet, database: engine }));
    await untilNoneRuns(database, lane);
    expect(await service.jobStates()).toEqual({ waiting: 2, failed: 3 });
  });

  test("an operation that is cancelled stops, which is audited, and one that has ended cannot be cancelled", async ({
    service,
    database,
  }) => {
    const lane = await laneOf(service, await service.queue({ paused: true }));
    await putJobs(database, lane, { state: "failed", count: 3 });
    await putOperation(database, lane.workspaceId, "1 hour");
    const { data } = await service.ok("GET", "/v1/operations");
    const cancelled = await service.ok("POST", `/v1/operations/${data[0].id}/cancel`);
    expect(cancelled).toMatchObject({ id: data[0].id, state: "cancelled", done: 0, finished_at: expect.any(String) });
    await service.advance(7_200);
    const again = await service.api("POST", `/v1/operations/${data[0].id}/cancel`);
    expect([again.status, again.body.error]).toMatchObject([
      409,
      { code: "INVALID_STATE", details: { state: "cancelled", allowed_from: ["running"] } },
    ]);
    expect(await service.jobStates()).toEqual({ failed: 3 });
    const audited = await service.ok("GET", "/v1/audit-events?event_type=operation.cancelled");
    expect(audited.data).toMatchObject([
      { actor_id: expect.stringMatching(/^key_/), resource_id: data[0].id, output: { done: 0, skipped: 0 } },
    ]);
  });

  test("a workspace has at most ten operations that are running", async ({ service, database }) => {
    const { workspaceId } = await laneOf(service, await service.queue());
    for (let at = 0; at < 10; at += 1) await putOperation(database, workspaceId, "1 hour");
    const refused = await service.api("POST", "/v1/jobs/retry", { filter: {} });
    expect([refused.status, refused.body.error.code]).toEqual([409, "INVALID_STATE"]);
    const { data } = await service.ok("GET", "/v1/operations");
    await service.ok("POST", `/v1/operations/${data[0].id}/cancel`);
    expect((await service.api("POST", "/v1/jobs/retry", { filter: {} })).status).toBe(202);
    await database.query("delete from operation where workspace_id = $1", [workspaceId]);
  });

  test("a workspace has at most ten, also if two are started at once", async ({ service, database, engine }) => {
    const { workspaceId } = await laneOf(service, await service.queue());
    for (let at = 0; at < 9; at += 1) await putOperation(database, workspaceId, "1 hour");
    const start = (tx: Transactional) =>
      startOperation(tx, { audit: auditLog, ids }, { workspaceId, actorId: "system" }, "retry", { filter: {} });
    const commit: Run = (work) => engine.transaction((tx) => work(within(tx)));
    await overlap(engine, commit, start, () => expect(start(engine)).rejects.toThrow("10 operations"));
    await database.query("delete from operation where workspace_id = $1", [workspaceId]);
  });
});

describe("the operations of a workspace that is deleted", () => {
  test("are gone at once, also one that is being executed", async ({ service, database, engine }) => {
    const { id } = await newWorkspace(database);
    const workspaceId = uuidOf("ws", id) as WorkspaceId;
    const operations = [await putOperation(database, workspaceId, "1 hour"), await putOperation(database, workspaceId, "1 hour")];
    const executed = hold(engine, sql`select from operation where id = ${uuidOf("op", operations[0] ?? "")} for update`);
    await executed.held;
    const deleted = operate(service, "DELETE", `/admin/v1/workspaces/${id}`);
    await executed.untilWaiting(1).finally(executed.release);
    expect((await deleted).status).toBe(204);
    expect(await database.query("select from operation where workspace_id = $1", [workspaceId])).toEqual([]);
  });

  test("and none is started while it is being deleted", async ({ database, engine }) => {
    const workspaceId = uuidOf("ws", (await newWorkspace(database)).id) as WorkspaceId;
    const deletion = hold(engine, sql`update workspace set deleted_at = moment() where id = ${workspaceId}`);
    await deletion.held;
    const actor = { workspaceId, actorId: "system" };
    const started = startOperation(engine, { audit: auditLog, ids }, actor, "retry", { filter: {} });
    started.catch(() => {});
    await deletion.untilWaiting(1).finally(deletion.release);
    await expect(started).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await database.query("select from operation where workspace_id = $1", [workspaceId])).toEqual([]);
  });
});
