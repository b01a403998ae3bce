import type { TakenRun } from "@tidemill/contract";
import { expect } from "vitest";
import type { NamedClaim } from "#jobs";
import { type Database, type RunId, sql, type WorkspaceId } from "#kernel";
import { completeRunsAcrossWorkspaces } from "../../src/workflows/complete-store.ts";
import { readRunId } from "../../src/workflows/run.ts";
import { completedStep } from "../../src/workflows/step-store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test as base } from "../harness/engine.ts";
import { type HeldLock, hold, isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

/** A run that a worker executes. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"run", TakenRun>("run", async ({ flow }) => {
    await flow.trigger();
    return flow.take();
  });

const step = (key: string, more: object = {}) => ({ key, type: "run", status: "completed", output: key, ...more });
const COMPLETED = { outcome: "completed", result: "done", steps: [step("last")] };

/** Does something while a run is locked: whoever changes the run waits, with the job that they have locked before. */
async function whileLocked<Result>(engine: Database, { runId }: TakenRun, work: (lock: HeldLock) => Promise<Result>): Promise<Result> {
  const lock = hold(engine, sql`select from run where id = ${readRunId(runId)} for update`);
  await lock.held;
  return work(lock).finally(() => lock.release());
}

/** Waits until the statement that settles completed runs waits for a lock. */
const untilSettleWaits = (database: TestDatabase) =>
  until(() => isWaiting(database, "lease_id, attempt, result, number)"), "the settle to wait");

test("a run that completes is settled by one statement, with the steps that were not stored before", async ({
  service,
  engine,
  flow,
  run,
}) => {
  await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step("first")] });
  const [ending] = await whileLocked(engine, run, async () => {
    const end = flow.end(run, COMPLETED);
    await untilSettleWaits(service.database);
    return [end] as const;
  });
  expect(await ending).toMatchObject({ ok: true });
  expect(await flow.get(run.runId)).toMatchObject({
    status: "completed",
    result: "done",
    steps: [
      { key: "first", output: "first" },
      { key: "last", output: "last" },
    ],
  });
  expect(await flow.end(run, COMPLETED)).toMatchObject({ ok: false, code: "LEASE_LOST" });
});

test("a cancel that comes first wins over the end of the run", async ({ service, engine, flow, run }) => {
  const [cancelling, ending] = await whileLocked(engine, run, async (lock) => {
    const cancel = service.api("POST", `/v1/runs/${run.runId}/cancel`);
    await lock.untilWaiting(1);
    const end = flow.end(run, COMPLETED);
    await untilSettleWaits(service.database);
    return [cancel, end] as const;
  });
  expect((await cancelling).status).toBe(200);
  expect(await ending).toMatchObject({ ok: false, code: "LEASE_LOST" });
  expect(await flow.get(run.runId)).toMatchObject({ status: "cancelled", result: null, steps: [] });
});

test("the end of a run wins over a cancel that comes later", async ({ service, engine, flow, run }) => {
  const [ending, cancelling] = await whileLocked(engine, run, async (lock) => {
    const end = flow.end(run, COMPLETED);
    await untilSettleWaits(service.database);
    const cancel = service.api("POST", `/v1/runs/${run.runId}/cancel`);
    await lock.untilWaiting(2);
    return [end, cancel] as const;
  });
  expect(await ending).toMatchObject({ ok: true });
  expect((await cancelling).body.error.code).toBe("INVALID_STATE");
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: "done" });
});

test("a call that begins while the run ends is withdrawn with its end", async ({ service, engine, flow, run }) => {
  const call = { key: "call", type: "http", status: "waiting", http: { url: "http://127.0.0.1:1/" } };
  const [reporting, ending] = await whileLocked(engine, run, async (lock) => {
    const report = service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [call] });
    await lock.untilWaiting(1);
    const end = flow.end(run, COMPLETED);
    await untilSettleWaits(service.database);
    return [report, end] as const;
  });
  expect(await reporting).toEqual({ steps: 1 });
  expect(await ending).toMatchObject({ ok: true });
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", steps: [{ key: "last" }, { key: "call", status: "waiting" }] });
  expect(await service.database.query("select from run_call")).toEqual([]);
  // An attempt under way is over first: its outcome is dropped. If it ended just before the run, its next attempt is.
  await until(async () => {
    await service.advance(10);
    return (await service.database.query("select from job where kind = 'http'")).length === 0;
  }, "the call to be gone");
});

test("a step that is stored while the run ends keeps its place before the last ones", async ({ service, engine, flow, run }) => {
  const [reporting, ending] = await whileLocked(engine, run, async (lock) => {
    const report = service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step("first")] });
    await lock.untilWaiting(1);
    const end = flow.end(run, COMPLETED);
    await untilSettleWaits(service.database);
    return [report, end] as const;
  });
  await reporting;
  expect(await ending).toMatchObject({ ok: true });
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", steps: [{ key: "first" }, { key: "last" }] });
});

test("an outcome of an earlier attempt of a run beside that of the attempt that holds it changes nothing", async ({
  service,
  engine,
  flow,
  run,
}) => {
  const id = readRunId(run.runId) as RunId;
  const [job] = await service.database.query<NamedClaim & { workspaceId: WorkspaceId }>(
    `select workspace_id as "workspaceId", lane_id::int as "laneId", id, lease_id::int as "leaseId", attempt from job where id = $1`,
    [id],
  );
  if (!job) throw new Error("The run has no job.");
  const outcomeOf = (attempt: number, key: string) => ({
    ...{ workspaceId: job.workspaceId, id, claim: { ...job, attempt }, result: `"${key}"` },
    steps: [completedStep(key, "run", "1")],
  });
  const settled = await completeRunsAcrossWorkspaces(engine, [outcomeOf(job.attempt + 1, "late"), outcomeOf(job.attempt, "held")]);
  expect(settled).toEqual([false, true]);
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: "held", steps: [{ key: "held" }] });
});
