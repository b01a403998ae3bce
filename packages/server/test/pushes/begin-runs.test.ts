import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { Claim } from "#jobs";
import { Database, type JobId, LoopTime, type Statement, sql, type Transactional, unavailable } from "#kernel";
import { beginRuns } from "../../src/pushes/begin-runs.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
import type { FrozenClock } from "../harness/clock.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { countWaiting, hold } from "../harness/locks.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

/** A run of a workflow of its own, to begin. */
async function putRun(service: Service) {
  const workflow = await putWorkflow(service);
  const id = readRunId(await workflow.trigger()) as string as JobId;
  const claim = { ...(await laneOfWorkflow(service, workflow.id)), id, attempt: 1, leaseId: 1 };
  const memory = { tryTake: () => true };
  return {
    claim: claim as Claim & typeof claim,
    endpoint: { workflow: workflow.id, version: null },
    token: "t",
    timeoutMs: 30_000,
    memory,
  };
}

test("executions whose runs are locked keep one connection, and hold up none of other workspaces", async ({
  service,
  node,
  database,
  engine,
  clock,
  onTestFinished,
}) => {
  const other = new Service(node, database, clock, await newWorkspace(database));
  onTestFinished(() => other.close());
  const db = new Database({ connection: { connectionString: database.url }, size: 4, statementTimeoutMs: 60_000 });
  onTestFinished(() => db.close());
  const begin = beginRuns({
    db,
    secrets: { secrets: { resolve: () => expect.fail() }, loopTime: new LoopTime() },
    clock: { nowMs: () => 0 },
    lockWaits: lockWaits(),
  });

  const locked = await Promise.all(Array.from({ length: 4 }, () => putRun(service)));
  const free = await putRun(other);
  const lock = hold(engine, sql`select from run where workspace_id = ${locked[0]?.claim.workspaceId} for update`);
  await lock.held;
  const waiting = Promise.all(locked.map(begin));
  await until(() => countWaiting(database, "begun").then((count) => count > 0), "a run that is locked");
  expect(await begin(free)).toMatchObject({ kind: "body" });
  expect(await countWaiting(database, "begun")).toBe(1);
  await lock.release();
  expect(await waiting).toMatchObject(locked.map(() => ({ kind: "body" })));
});

/** Services of other workspaces on a node, until the test has ended. */
async function otherServices(node: Service["node"], database: TestDatabase, clock: FrozenClock, count: number): Promise<Service[]> {
  const services: Service[] = [];
  for (let at = 0; at < count; at += 1) services.push(new Service(node, database, clock, await newWorkspace(database)));
  onTestFinished(async () => {
    for (const service of services) await service.close();
  });
  return services;
}

/** Begins executions. Those of runs in `slow` take too long. */
function beginningOn(database: TestDatabase, clock: { nowMs(): number }) {
  const db = new Database({ connection: { connectionString: database.url }, size: 4, statementTimeoutMs: 60_000 });
  onTestFinished(() => db.close());
  const slow = new Set<JobId>();
  const query = async (statement: Statement) => {
    if ([...slow].some((id) => statement.values.some((value) => String(value).includes(id)))) {
      throw Object.assign(unavailable(), { cause: { code: "57014" } });
    }
    return db.query(statement);
  };
  const secrets = { secrets: { resolve: () => expect.fail() }, loopTime: new LoopTime() };
  const on: Transactional = { query, transaction: (work) => db.transaction(work) };
  return { begin: beginRuns({ db: on, secrets, clock, lockWaits: lockWaits() }), slow };
}

const lockRuns = async (engine: Database, runs: readonly Awaited<ReturnType<typeof putRun>>[]) => {
  const lock = hold(engine, sql`select from run where id = any(${runs.map(({ claim }) => claim.id)}::uuid[]) for update`);
  await lock.held;
  return lock;
};

const untilLocked = (database: TestDatabase, count: number) =>
  until(async () => (await countWaiting(database, "begun")) === count, `${count} runs that are locked`);

test("the time of an execution that waits for its turn counts from then on", async ({ service, node, database, engine, clock }) => {
  const [other, last] = (await otherServices(node, database, clock, 2)) as [Service, Service];
  let nowMs = 0;
  const { begin } = beginningOn(database, { nowMs: () => nowMs });
  const locked = [await putRun(service), await putRun(other)];
  const run = await putRun(last);
  const lock = await lockRuns(engine, locked);
  const waiting = locked.map(begin);
  await untilLocked(database, 2);
  const begun = begin(run);
  await setImmediate();
  nowMs = 60_000;
  await lock.release();
  const expiryOf = async (body: ReturnType<typeof begin>) => {
    const sent = await body;
    return sent?.kind === "body" ? JSON.parse(sent.text.join("")).lease_expires_at : null;
  };
  expect(await Promise.all([...waiting, begun].map(expiryOf))).toEqual(
    ["00:00:30", "00:00:30", "00:01:30"].map((time) => `1970-01-01T${time}.000Z`),
  );
});

test("workflows whose runs took too long to begin wait for locks one at a time, and hold up neither others of their workspaces nor those of others", async ({
  service,
  node,
  database,
  engine,
  clock,
}) => {
  const [other, last] = (await otherServices(node, database, clock, 2)) as [Service, Service];
  const { begin, slow } = beginningOn(database, { nowMs: () => 0 });
  const locked = [await putRun(service), await putRun(other)];
  const free = [await putRun(service), await putRun(other), await putRun(last)];
  for (const { claim } of locked) slow.add(claim.id);
  for (const run of locked) await expect(begin(run)).rejects.toMatchObject({ cause: { code: "57014" } });
  slow.clear();
  const lock = await lockRuns(engine, locked);
  const waiting = Promise.all(locked.map(begin));
  await untilLocked(database, 1);
  expect(await Promise.all(free.map(begin))).toMatchObject(free.map(() => ({ kind: "body" })));
  expect(await countWaiting(database, "begun")).toBe(1);
  await lock.release();
  expect(await waiting).toMatchObject(locked.map(() => ({ kind: "body" })));
});
