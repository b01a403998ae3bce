import { MAX_JOURNAL, type TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import type { NamedClaim } from "#jobs";
import { type Database, type RunId, sql, type WorkspaceId } from "#kernel";
import { completeRunsAcrossWorkspaces } from "../../src/workflows/executions/complete-store.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { completedStep } from "../../src/workflows/steps/step-store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test as base } from "../harness/engine.ts";
import { type HeldLock, hold, isWaiting } from "../harness/locks.ts";
import { type Service, until } from "../harness/service.ts";
import { miscountedRuns, putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

/** A run that a worker executes. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"run", TakenRun>("run", async ({ flow, service }, { onCleanup }) => {
    await flow.trigger();
    // However the run has ended, it is counted once.
    onCleanup(async () => expect(await miscountedRuns(service)).toEqual([]));
    return flow.take();
  });

const step = (key: string, more: object = {}) => ({ key, type: "run", status: "completed", output: key, ...more });

/** How a run ends: with one step, which has a statement of its own, or with several. */
const ENDS = [{ lastKeys: ["last"] }, { lastKeys: ["last", "very last"] }];
const completed = (lastKeys: readonly string[]) => ({ outcome: "completed", result: "done", steps: lastKeys.map((key) => step(key)) });
const stepsOf = (keys: readonly string[]) => keys.map((key) => ({ key, output: key }));

/** Does something while a run is locked: whoever changes the run waits, with the job that they have locked before. */
async function whileLocked<Result>(engine: Database, { runId }: TakenRun, work: (lock: HeldLock) => Promise<Result>): Promise<Result> {
  const lock = hold(engine, sql`select from run where id = ${readRunId(runId)} for update`);
  await lock.held;
  return work(lock).finally(() => lock.release());
}

/** Waits until the statement that settles completed runs waits for a lock. */
const untilSettleWaits = (database: TestDatabase) =>
  until(
    async () =>
      (await isWaiting(database, "lease_id, attempt, result, number)")) ||
      (await isWaiting(database, "select r.lane_id, r.status, r.steps, r.last_seq")),
    "the settle to wait",
  );

test.for(ENDS)(
  "a run that completes is settled by one statement, with the steps that were not stored before: $lastKeys",
  async ({ lastKeys }, { service, engine, flow, run }) => {
    await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step("first")] });
    const [ending] = await whileLocked(engine, run, async () => {
      const end = flow.end(run, completed(lastKeys));
      await untilSettleWaits(service.database);
      return [end] as const;
    });
    expect(await ending).toMatchObject({ ok: true });
    expect(await flow.get(run.runId)).toMatchObject({
      status: "completed",
      result: "done",
      steps: stepsOf(["first", ...lastKeys]),
    });
    expect(await flow.end(run, completed(lastKeys))).toMatchObject({ ok: false, code: "LEASE_LOST" });
  },
);

test.for(ENDS)(
  "a cancel that comes first wins over the end of the run: $lastKeys",
  async ({ lastKeys }, { service, engine, flow, run }) => {
    const [cancelling, ending] = await whileLocked(engine, run, async (lock) => {
      const cancel = service.api("POST", `/v1/runs/${run.runId}/cancel`);
      await lock.untilWaiting(1);
      const end = flow.end(run, completed(lastKeys));
      await untilSettleWaits(service.database);
      return [cancel, end] as const;
    });
    expect((await cancelling).status).toBe(200);
    expect(await ending).toMatchObject({ ok: false, code: "LEASE_LOST" });
    expect(await flow.get(run.runId)).toMatchObject({ status: "cancelled", result: null, steps: [] });
  },
);

test.for(ENDS)("the end of a run wins over a cancel that comes later: $lastKeys", async ({ lastKeys }, { service, engine, flow, run }) => {
  const [ending, cancelling] = await whileLocked(engine, run, async (lock) => {
    const end = flow.end(run, completed(lastKeys));
    await untilSettleWaits(service.database);
    const cancel = service.api("POST", `/v1/runs/${run.runId}/cancel`);
    await lock.untilWaiting(2);
    return [end, cancel] as const;
  });
  expect(await ending).toMatchObject({ ok: true });
  expect((await cancelling).body.error.code).toBe("INVALID_STATE");
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: "done" });
});

test.for(ENDS)(
  "a call that begins while the run ends is withdrawn with its end: $lastKeys",
  async ({ lastKeys }, { service, engine, flow, run }) => {
    const call = { key: "call", type: "http", status: "waiting", http: { url: "http://127.0.0.1:1/" } };
    const [reporting, ending] = await whileLocked(engine, run, async (lock) => {
      const report = service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [call] });
      await lock.untilWaiting(1);
      const end = flow.end(run, completed(lastKeys));
      await untilSettleWaits(service.database);
      return [report, end] as const;
    });
    expect(await reporting).toEqual({ steps: 1 });
    expect(await ending).toMatchObject({ ok: true });
    expect(await flow.get(run.runId)).toMatchObject({
      status: "completed",
      steps: [...stepsOf(lastKeys), { key: "call", status: "waiting" }],
    });
    expect(await service.database.query("select from run_call")).toEqual([]);
    // An attempt under way is over first: its outcome is dropped. If it ended just before the run, its next attempt is.
    await until(async () => {
      await service.advance(10);
      return (await service.database.query("select from job where kind = 'http'")).length === 0;
    }, "the call to be gone");
  },
);

test.for(ENDS)(
  "a step that is stored while the run ends keeps its place before the last ones: $lastKeys",
  async ({ lastKeys }, { service, engine, flow, run }) => {
    const [reporting, ending] = await whileLocked(engine, run, async (lock) => {
      const report = service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step("first")] });
      await lock.untilWaiting(1);
      const end = flow.end(run, completed(lastKeys));
      await untilSettleWaits(service.database);
      return [report, end] as const;
    });
    await reporting;
    expect(await ending).toMatchObject({ ok: true });
    expect(await flow.get(run.runId)).toMatchObject({ status: "completed", steps: stepsOf(["first", ...lastKeys]) });
  },
);

/** A run with its claim, as the statement that settles it gets it. */
async function heldRun({ database }: Service, { runId }: TakenRun) {
  const id = readRunId(runId) as RunId;
  const [job] = await database.query<NamedClaim & { workspaceId: WorkspaceId }>(
    `select workspace_id as "workspaceId", lane_id::int as "laneId", id, lease_id::int as "leaseId", attempt from job where id = $1`,
    [id],
  );
  if (!job) throw new Error("The run has no job.");
  return { workspaceId: job.workspaceId, id, claim: job, result: '"done"' };
}

const plainSteps = (keys: readonly string[]) => keys.map((key) => completedStep(key, "run", `"${key}"`));

describe.for(ENDS)("a run that ends with $lastKeys is left to a transaction", ({ lastKeys }) => {
  test.for([
    { what: "whose journal has no room for its steps", change: `update run set steps = ${MAX_JOURNAL.steps} where id = $1` },
    { what: "whose journal has no room for their outputs", change: `update run set journal_bytes = ${MAX_JOURNAL.bytes} where id = $1` },
    { what: "for which another run waits", change: "update run set parent_run_id = id where id = $1" },
    {
      what: "whose workflow has a hook for it",
      change: "update workflow set hooks = '{onSuccess}' where id = (select lane_id from run where id = $1)",
    },
    {
      what: "that was taken again",
      change: "update job set attempt = attempt + 1, attempts = attempts + 1 where id = $1",
    },
  ])("one $what", async ({ change }, { service, engine, run }) => {
    const held = await heldRun(service, run);
    await service.database.query(change, [held.id]);
    expect(await completeRunsAcrossWorkspaces(engine, [{ ...held, steps: plainSteps(lastKeys) }])).toEqual([false]);
    expect(await service.database.query("select status from run where id = $1", [held.id])).toEqual([{ status: "running" }]);
  });
});

test.for(ENDS)(
  "a step that the journal has already is not stored again with the end of its run: $lastKeys",
  async ({ lastKeys }, { service, engine, flow, run }) => {
    await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step("last")] });
    const held = await heldRun(service, run);
    expect(await completeRunsAcrossWorkspaces(engine, [{ ...held, steps: plainSteps(lastKeys) }])).toEqual([true]);
    expect(await flow.get(run.runId)).toMatchObject({ status: "completed", steps: stepsOf(lastKeys) });
    const counted = await service.database.query("select steps, journal_bytes::int as bytes from run where id = $1", [held.id]);
    expect(counted).toEqual([{ steps: lastKeys.length, bytes: lastKeys.join("").length + 2 * lastKeys.length }]);
  },
);

test("runs that complete together are settled by one statement", async ({ service, engine, flow }) => {
  const held = [];
  for (const input of [1, 2]) {
    await flow.trigger({ input });
    held.push(await heldRun(service, await flow.take()));
  }
  const settled = await completeRunsAcrossWorkspaces(
    engine,
    held.map((one) => ({ ...one, steps: plainSteps(["last"]) })),
  );
  expect(settled).toEqual([true, true]);
  const ids = held.map(({ id }) => id);
  expect(await service.database.query("select from job where id = any($1)", [ids])).toEqual([]);
});

test("an outcome of an earlier attempt of a run beside that of the attempt that holds it changes nothing", async ({
  service,
  engine,
  flow,
  run,
}) => {
  const held = await heldRun(service, run);
  const { attempt: present } = held.claim;
  const outcomeOf = (attempt: number, key: string) => ({
    ...{ ...held, claim: { ...held.claim, attempt }, result: `"${key}"` },
    steps: [completedStep(key, "run", "1")],
  });
  const settled = await completeRunsAcrossWorkspaces(engine, [outcomeOf(present + 1, "late"), outcomeOf(present, "held")]);
  expect(settled).toEqual([false, true]);
  expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: "held", steps: [{ key: "held" }] });
});
