import { expect } from "vitest";
import type { Claim } from "#jobs";
import { Database, type JobId, LoopTime, sql } from "#kernel";
import { beginRuns } from "../../src/pushes/begin-runs.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
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
