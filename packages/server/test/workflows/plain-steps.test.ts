import { describe, expect, onTestFinished } from "vitest";
import type { NamedClaim } from "#jobs";
import type { Database, Db, RunId, Transactional } from "#kernel";
import type { LaneId } from "#lanes";
import { beginExecutions } from "../../src/workflows/executions/execution-store.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { readJournals } from "../../src/workflows/runs/run-store.ts";
import { insertPlainStepsAcrossWorkspaces } from "../../src/workflows/steps/plain-step-store.ts";
import { completedStep } from "../../src/workflows/steps/step-store.ts";
import { test } from "../harness/engine.ts";
import { isWaiting } from "../harness/locks.ts";
import { type Service, until } from "../harness/service.ts";
import { keepingValues } from "../harness/statements.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

const WHOLE = 64 * 1024;

describe("one step of one run", () => {
  test.for([
    { length: 100, isLarge: false },
    { length: 3_000_000, isLarge: true },
  ])(
    "one step of one run is stored; of $length characters it is sent in pieces: $isLarge",
    async ({ length, isLarge }, { service, engine }) => {
      const { id: workflow, trigger, take } = await putWorkflow(service);
      await trigger();
      await take();
      const { workspaceId, laneId } = await laneOfWorkflow(service, workflow);
      const [claim] = await service.database.query<NamedClaim & { id: string }>(
        `select lane_id::int as "laneId", id, lease_id::int as "leaseId", attempt from job where lane_id = $1`,
        [laneId],
      );
      const id = claim?.id as string as RunId;
      const { db, sent } = keepingValues(engine);
      const output = JSON.stringify("é".repeat(length));
      const stored = await insertPlainStepsAcrossWorkspaces(db, [
        { workspaceId, id, claim: claim as NamedClaim, steps: [completedStep("a", "run", output)] },
      ]);
      expect([...stored]).toEqual([[id, 1]]);
      const texts = sent.filter((value) => typeof value === "string" || Buffer.isBuffer(value)) as (string | Buffer)[];
      expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(WHOLE);
      expect(texts.includes(output)).toBe(!isLarge);
      const rows = await service.database.query(
        "select s.output = $2 as same, r.journal_bytes::int as bytes from run r, run_step s where r.id = $1 and s.run_id = r.id",
        [id, output],
      );
      expect(rows).toEqual([{ same: true, bytes: Buffer.byteLength(output) }]);
    },
  );
});

/** A run whose first execution has begun. */
async function beginRun(service: Service, settings: object = {}) {
  const { id: workflow, trigger, take, end } = await putWorkflow(service, settings);
  await trigger();
  const run = await take();
  const { workspaceId, laneId } = await laneOfWorkflow(service, workflow);
  const key = { workspaceId, id: readRunId(run.runId) as RunId };
  const [job] = await service.database.query<{ leaseId: number }>(`select lease_id::int as "leaseId" from job where id = $1`, [key.id]);
  const leaseId = job?.leaseId ?? 0;
  const report = async (db: Db, execution: number, step: string, other: Partial<Pick<NamedClaim, "laneId" | "leaseId">> = {}) => {
    const claim = { id: run.runId, laneId, leaseId, attempt: execution, ...other } as NamedClaim;
    return (await insertPlainStepsAcrossWorkspaces(db, [{ ...key, claim, steps: [completedStep(step, "run", "1")] }])).size === 1;
  };
  const begin = (db: Transactional, execution: number) =>
    beginExecutions(db, key.workspaceId, [{ id: key.id, laneId, execution, leaseId }], null);
  const open = async () =>
    (
      await service.database.query<{ open: number | null }>(
        "select case when open_lease_id is not null then last_execution end as open from run where id = $1",
        [key.id],
      )
    )[0]?.open;
  return { run, take, end, key, report, begin, open };
}

describe("which execution may add steps without a look at its job", () => {
  test("is the last one that began, whatever order executions begin in", async ({ service, engine }) => {
    const { report, begin, open } = await beginRun(service);
    expect([await open(), await report(engine, 1, "a")]).toEqual([1, true]);
    await begin(engine, 3);
    expect([await open(), await report(engine, 1, "b"), await report(engine, 3, "c")]).toEqual([3, false, true]);
    // Its node was slow: the next one has read the journal already. Now their jobs are looked at.
    await begin(engine, 2);
    expect([await open(), await report(engine, 2, "d"), await report(engine, 3, "e")]).toEqual([null, false, false]);
    for (const late of [1, 2, 3]) {
      await begin(engine, late);
      expect([await open(), await report(engine, late, "f")]).toEqual([null, false]);
    }
    await begin(engine, 9);
    expect([await open(), await report(engine, 9, "g")]).toEqual([9, true]);
  });

  test("is the next one of a run that was retried, whatever ended it before", async ({ service, engine }) => {
    const { run, take, end, report, open } = await beginRun(service);
    await end(run, { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 }] });
    await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
    await service.ok("POST", `/v1/runs/${run.runId}/retry`);
    await service.advance(60);
    expect(await take()).toMatchObject({ runId: run.runId });
    expect([await open(), await report(engine, 2, "a")]).toEqual([2, true]);
  });

  test("is not one of another workflow or worker, whose first execution it is, too", async ({ service, engine }) => {
    const { report } = await beginRun(service);
    expect([await report(engine, 1, "a", { laneId: 0 as LaneId }), await report(engine, 1, "a", { leaseId: 0 })]).toEqual([false, false]);
  });

  test("a step that is being stored while the next execution begins is in the journal before that is read", async ({ service, engine }) => {
    const { key, report, begin } = await beginRun(service);
    const storing = uncommitted(engine, (tx) => report(tx, 1, "a"));
    expect(await storing.result).toBe(true);
    const journal = begin(engine, 2).then(() => readJournals(engine, key.workspaceId, [key.id]));
    await until(() => isWaiting(service.database, "with begun as"), "the next execution to wait");
    await storing.commit();
    expect((await journal).get(key.id)?.map(({ key: step }) => step)).toEqual(["a"]);
  });

  test("a step that is being stored while the next execution begins is in its journal before a sleep that ends then", async ({
    service,
    engine,
    clock,
  }) => {
    const { run, key, report, begin } = await beginRun(service);
    const steps = [{ key: "s", type: "sleep", status: "waiting", sleepFor: 1_000 }];
    await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps });
    await clock.advance(2);
    const storing = uncommitted(engine, (tx) => report(tx, 1, "a"));
    expect(await storing.result).toBe(true);
    const begun = begin(engine, 2);
    await until(() => isWaiting(service.database, "with begun as"), "the next execution to wait");
    await storing.commit();
    await begun;
    expect(await service.database.query("select key, seq from run_step where run_id = $1 order by seq", [key.id])).toEqual([
      { key: "a", seq: 2 },
      { key: "s", seq: 3 },
    ]);
  });

  test("a step that comes while the next execution begins is not stored", async ({ service, engine }) => {
    const { key, report, begin } = await beginRun(service);
    const beginning = uncommitted(engine, (tx) => begin({ query: (statement) => tx.query(statement), transaction: (work) => work(tx) }, 2));
    await beginning.result;
    const late = report(engine, 1, "a");
    await until(() => isWaiting(service.database, "insert into run_step"), "the step to wait");
    await beginning.commit();
    expect(await late).toBe(false);
    expect((await readJournals(engine, key.workspaceId, [key.id])).get(key.id) ?? []).toEqual([]);
  });

  test("is none any more after a statement of a node that does not know of it, so that the job is looked at", async ({
    service,
    engine,
  }) => {
    const { run, key, report, begin, open } = await beginRun(service);
    // As such a node begins and ends an execution.
    for (let times = 0; times < 2; times += 1) await service.database.query("update run set status = status where id = $1", [key.id]);
    await begin(engine, 1);
    expect([await open(), await report(engine, 1, "a")]).toEqual([null, false]);
    const steps = [{ key: "a", type: "run", status: "completed", output: 1 }];
    expect(await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps })).toEqual({ steps: 1 });
  });

  test.for([
    { end: "it is suspended", outcome: { outcome: "suspended", steps: [{ key: "s", type: "sleep", status: "waiting", sleepFor: 1_000 }] } },
    { end: "it is released", outcome: { outcome: "released" } },
    { end: "it fails, and is to be retried", outcome: { outcome: "failed", error: "no" } },
    { end: "the run completes", outcome: { outcome: "completed" } },
    { end: "the run fails", attempts: 1, outcome: { outcome: "failed", error: "no" } },
  ])("is none any more once $end", async ({ outcome, attempts = 3 }, { service, engine }) => {
    const { run, report, open } = await beginRun(service, { attempts });
    const { settled } = await service.ok("POST", "/v1/work", {
      worker: "w1",
      queues: [],
      settle: [{ id: run.runId, lease_token: run.lease_token, ...outcome }],
    });
    expect(settled).toMatchObject([{ ok: true }]);
    expect([await open(), await report(engine, 1, "a")]).toEqual([null, false]);
  });
});

test("the steps of a run go with it", async ({ service, engine }) => {
  const { key, report } = await beginRun(service);
  const other = await beginRun(service);
  await Promise.all([report(engine, 1, "a"), other.report(engine, 1, "a")]);
  await service.database.query("delete from run where id = $1", [key.id]);
  expect(await service.database.query("select run_id from run_step where run_id in ($1, $2)", [key.id, other.key.id])).toEqual([
    { run_id: other.key.id },
  ]);
});

/** Does something in a transaction that stays open. */
function uncommitted<Result>(engine: Database, work: (tx: Db) => Promise<Result>) {
  const [result, committed] = [Promise.withResolvers<Result>(), Promise.withResolvers<void>()];
  onTestFinished(() => committed.resolve());
  const done = engine.transaction(async (tx) => {
    result.resolve(await work(tx));
    await committed.promise;
  });
  const commit = () => {
    committed.resolve();
    return done;
  };
  return { result: result.promise, commit };
}
