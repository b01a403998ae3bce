import { describe, expect } from "vitest";
import { type EnqueueEngine, Enqueuer, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "#jobs";
import { type Database, DatabaseClock, type JobId, SharedResource, systemRandom, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { putLane, putNode, test } from "../harness/engine.ts";
import { PLAIN_JOB, putJobs } from "../harness/jobs.ts";
import { until } from "../harness/service.ts";

let made = 0;
const newJob = (more: Partial<JobToInsert> = {}): JobToInsert => ({
  ...PLAIN_JOB,
  id: `01900000-0000-7000-9000-${String(++made).padStart(12, "0")}` as JobId,
  eager: true,
  tick: null,
  ...more,
});

const request = ({ workspaceId }: LaneKey, ...jobs: JobToInsert[]): InsertRequest => ({ workspaceId, queue: "emails", jobs });

/** The states in which a node writes requests together. */
async function statesOf(engine: Database, leaseId: number | null, ...requests: InsertRequest[]): Promise<string[]> {
  const inserted = await insertJobsAcrossWorkspaces(engine, leaseId, requests);
  return inserted.flatMap((jobs) => jobs?.map(({ state }) => state) ?? ["none"]);
}

describe("a job is written as claimed by the node that takes it in", () => {
  test("a job is written as claimed by the node that takes it in when it is due and nothing of its queue waits", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database);
    const leaseId = await putNode(database);
    const job = newJob();
    expect(await statesOf(engine, leaseId, request(lane, job))).toEqual(["active"]);
    const [row] = await database.query("select state, attempt, lease_id::int, started_at = created_at as at_once from job where id = $1", [
      job.id,
    ]);
    expect(row).toEqual({ state: "active", attempt: 1, lease_id: leaseId, at_once: true });
  });

  test("a job is written as claimed by the node that takes it in while others of its queue are under way, put off or failed, too", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database);
    const leaseId = await putNode(database);
    await putJobs(database, lane, { state: "active", leaseId });
    await putJobs(database, lane, { state: "delayed", runAt: "moment() + interval '1 hour'" });
    await putJobs(database, lane, { state: "failed" });
    expect(await statesOf(engine, leaseId, request(lane, newJob()))).toEqual(["active"]);
  });

  test("a job is written as claimed by the node that takes it in whatever waits in other queues", async ({ database, engine }) => {
    await putJobs(database, await putLane(database), { state: "waiting" });
    expect(await statesOf(engine, await putNode(database), request(await putLane(database), newJob()))).toEqual(["active"]);
  });

  test("jobs that come at the same moment are written as claimed together by the node that takes them in", async ({ database, engine }) => {
    const [one, two] = [await putLane(database), await putLane(database)];
    expect(await statesOf(engine, await putNode(database), request(one, newJob()), request(two, newJob()), request(one, newJob()))).toEqual(
      ["active", "active", "active"],
    );
  });
});

describe("a job waits its turn", () => {
  test("a job waits its turn when one of its queue waits already, of whatever priority", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting", priority: -100 });
    expect(await statesOf(engine, await putNode(database), request(lane, newJob({ priority: 100 })))).toEqual(["waiting"]);
  });

  test.for<[string, string]>([
    ["its queue is paused", "update lane set paused = true where id = $1"],
    ["its queue has no callback_url", "update lane set served = 'pull' where id = $1"],
  ])("a job waits its turn when %s", async ([, change], { database, engine }) => {
    const lane = await putLane(database);
    await database.query(change, [lane.laneId]);
    expect(await statesOf(engine, await putNode(database), request(lane, newJob()))).toEqual(["waiting"]);
  });

  test("a job waits its turn when the node's lease has run out, or it has none", async ({ database, engine }) => {
    const lane = await putLane(database);
    expect(await statesOf(engine, await putNode(database, { alive: false }), request(lane, newJob()))).toEqual(["waiting"]);
    expect(await statesOf(engine, null, request(await putLane(database), newJob()))).toEqual(["waiting"]);
  });

  test("a job waits its turn when the node has no room for it, and then so do those after it", async ({ database, engine }) => {
    const lane = await putLane(database);
    const leaseId = await putNode(database);
    expect(await statesOf(engine, leaseId, request(lane, newJob({ eager: false })))).toEqual(["waiting"]);
    expect(await statesOf(engine, leaseId, request(lane, newJob()))).toEqual(["waiting"]);
  });

  test("a job waits its turn until it is due", async ({ database, engine }) => {
    const lane = await putLane(database);
    expect(await statesOf(engine, await putNode(database), request(lane, newJob({ delaySeconds: 1 })))).toEqual(["delayed"]);
  });

  test("a job waits its turn when its queue holds jobs for approval", async ({ database, engine }) => {
    const lane = await putLane(database);
    await database.query("update queue set type = 'approval' where id = $1", [lane.laneId]);
    expect(await statesOf(engine, await putNode(database), request(lane, newJob()))).toEqual(["pending_approval"]);
  });
});

test("an enqueue wakes queues that nodes serve now, and no paused one and none without callback_url", async ({ database, engine }) => {
  const open = await putLane(database);
  const paused = await putLane(database, { paused: true });
  const silent = await putLane(database);
  await database.query("update lane set served = 'pull' where id = $1", [silent.laneId]);
  const woken: LaneKey[] = [];
  const pulled: LaneKey[] = [];
  const outlet: EnqueueEngine = {
    leaseId: null,
    roomFor: () => 0,
    expecting: (_ids, write) => write(),
    take: () => {},
    wake: (lanes) => void woken.push(...lanes),
    wakeAt: () => {},
    wakePulled: (lanes) => void pulled.push(...lanes),
    wakeWorkflows: (lanes) => void pulled.push(...lanes),
  };
  const ids = new UuidSource(new DatabaseClock(), systemRandom);
  const enqueuer = new Enqueuer({
    db: engine,
    ids,
    outlet,
    emit: () => {},
    backlog: new SharedResource({ name: "enqueue_backlog", capacity: 10 }),
  });
  for (const { workspaceId } of [open, paused, silent]) {
    await enqueuer.enqueue({ workspaceId, executionsPerMonth: null }, "emails", [PLAIN_JOB]);
  }
  expect(woken).toEqual([open]);
});

test("a queue that does not exist, or is deleted, takes nothing, and costs its neighbours nothing", async ({ database, engine }) => {
  const [lane, deleted] = [await putLane(database), await putLane(database)];
  await database.query("update lane set deleted_at = moment() where id = $1", [deleted.laneId]);
  const nowhere = { ...request(lane, newJob()), queue: "nowhere" };
  expect(await statesOf(engine, null, request(deleted, newJob()), nowhere, request(lane, newJob()))).toEqual(["none", "none", "waiting"]);
});

describe("over HTTP", () => {
  test("the reply to a job that starts eagerly says that it waits, and the record from then on that it is active", async ({ service }) => {
    const handler = await service.handler({ answers: "hang" });
    const job = await service.enqueue({ queue: handler.queue });
    expect(job).toMatchObject({ state: "waiting", attempt: 0, started_at: null });
    await until(() => handler.open === 1, "the attempt");
    expect(await service.job(job)).toMatchObject({ state: "active", attempt: 1, started_at: job.created_at, attempts_log: [] });
  });

  test("a paused queue takes jobs and starts none, until it is resumed", async ({ service }) => {
    const handler = await service.handler({ paused: true });
    const job = await service.enqueue({ queue: handler.queue, payload: "paused" });
    const other = await service.handler();
    await service.untilState(await service.enqueue({ queue: other.queue }), "completed");
    expect([handler.received.length, (await service.job(job)).state]).toEqual([0, "waiting"]);
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await service.untilState(job, "completed");
  });

  test("a queue without callback_url keeps its jobs until it has one", async ({ service }) => {
    const queue = await service.queue();
    const jobs = [await service.enqueue({ queue, payload: 1 }), await service.enqueue({ queue, payload: 2 })];
    const handler = await service.handler();
    await service.ok("PATCH", `/v1/queues/${queue}`, { callback_url: handler.url });
    for (const job of jobs) await service.untilState(job, "completed");
    expect(handler.payloads.toSorted()).toEqual([1, 2]);
  });

  test("a queue that loses its callback_url keeps what was between two attempts", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_url: null });
    await service.advance(3_600);
    await service.untilState(job, "waiting");
    expect(handler.attempts).toEqual([1]);
  });
});
