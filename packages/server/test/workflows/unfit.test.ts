import { describe, expect } from "vitest";
import type { RunId } from "#kernel";
import { CodeVersions } from "../../src/workers/code-versions.ts";
import { beginExecutions } from "../../src/workflows/executions/execution-store.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { test as base } from "../harness/engine.ts";
import { type Service, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const REASON = 'The journal has step "load", but the code does not reach it.';
const unfit = { outcome: "unfit", step: "load", error: REASON };

/** A run that version v1 has begun, with the step "load" in its journal. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"runId", string>("runId", async ({ service, flow }) => {
    const runId = await flow.trigger();
    const run = await flow.take({ version: "v1" });
    const steps = [{ key: "load", type: "run", status: "completed", output: 1 }];
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    await flow.end(run, { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 200_000 }] });
    await service.advance(201);
    return runId;
  });

const moment = (ms: number) => new Date(ms).toISOString();

/** What a worker of this version takes. */
const takenBy = async (flow: TestWorkflow, version: string | null) =>
  (await flow.work({ worker: `w-${version}`, workflows: [flow.id], ...(version && { version }) })).runs.map(({ runId }) => runId);

/** Lets time pass until the run is due again, while a worker without a version polls in vain. */
async function pass(service: Service, flow: TestWorkflow, seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 60) {
    expect(await takenBy(flow, null)).toEqual([]);
    await service.advance(Math.min(left, 60));
  }
}

/** Stores runs that were cancelled while they waited for other code than that of this version. */
async function waitForCode(service: Service, flow: TestWorkflow, count: number, version: string): Promise<void> {
  const { workspaceId, laneId } = await laneOfWorkflow(service, flow.id);
  await service.database.query(
    `with ended as (
      insert into run (workspace_id, lane_id, id, status, attempts, input, trigger, created_at, ended_at, expires_at)
      select $1, $2, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'cancelled', 3, 'null', '{}', moment(), moment(), 'infinity'
      from generate_series(1, $3::int) n returning workspace_id, lane_id, id
    ) insert into run_unfit (workspace_id, run_id, lane_id, step, reason, version, tried, parked)
      select workspace_id, id, lane_id, 'load', 'It does not fit.', $4, array[$4], true from ended`,
    [workspaceId, laneId, count, version],
  );
}

/** A worker of this version takes the run and reports that its journal does not fit. */
async function misfits(flow: TestWorkflow, version: string | null): Promise<void> {
  const as = { worker: `w-${version}`, ...(version && { version }) };
  const run = await flow.take(as);
  expect(await flow.work({ ...as, settle: [{ id: run.runId, lease_token: run.lease_token, ...unfit }] })).toMatchObject({
    settled: [{ ok: true }],
  });
}

describe("a run whose journal does not fit the code", () => {
  test("goes on when other code comes, also if the first call of its worker fails", async ({ service, flow, runId, database }) => {
    await misfits(flow, "v2");
    await database.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused by a test'; end $$;
      create trigger refuse before update on job for each row when (old.run_at > '9000-01-01') execute function refuse()`);
    const ask = { worker: "w-v3", queues: [], workflows: [flow.id], version: "v3" };
    expect((await service.api("POST", "/v1/work", ask)).status).toBe(500);
    await database.query("drop function refuse cascade");
    expect(await takenBy(flow, "v3")).toEqual([runId]);
  });

  test("goes on with a version that began to ask as it was parked", async ({ service, flow, runId, engine, clock }) => {
    const lane = await laneOfWorkflow(service, flow.id);
    const released: unknown[] = [];
    const versions = new CodeVersions({ database: engine, clock, emit: () => {}, onReleased: (one) => released.push(one.laneId) });
    await versions.asks([{ ...lane, version: "v3" }], 1);
    // As the statement sees it that parks the run: it began before.
    await service.database.query("delete from workflow_version where lane_id = $1", [lane.laneId]);
    await misfits(flow, "v2");
    expect(await flow.get(runId)).toMatchObject({ status: "waiting" });
    await versions.asks([{ ...lane, version: "v3" }], 1);
    await versions.write();
    expect(released).toEqual([lane.laneId]);
    expect(await takenBy(flow, "v3")).toEqual([runId]);
  });

  test("waits for other code, says what does not fit, and uses no attempt", async ({ service, flow, runId }) => {
    await misfits(flow, "v2");
    expect(await flow.get(runId)).toMatchObject({
      status: "waiting",
      version: "v1",
      attempt: 1,
      error: null,
      nextAttemptAt: null,
    });
    const waitingFor = [{ type: "code", step: "load", journalVersion: "v1", codeVersion: "v2", reason: REASON }];
    expect((await flow.get(runId)).waitingFor).toEqual(waitingFor);
    expect((await service.ok("GET", "/v1/runs?status=waiting")).data).toMatchObject([{ runId }]);
    expect(await takenBy(flow, "v2")).toEqual([]);
    await service.advance(86_400);
    expect(await takenBy(flow, "v2")).toEqual([]);
  });

  test("that was begun by code without a version says so, also when code that has one has tried it", async ({ service, flow }) => {
    const runId = await flow.trigger();
    await flow.end(await flow.take(), { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 1_000 }] });
    await service.advance(2);
    await misfits(flow, "v2");
    const waitingFor = [{ type: "code", step: "load", journalVersion: null, codeVersion: "v2" }];
    expect(await flow.get(runId)).toMatchObject({ version: null, waitingFor });
    expect(await flow.take({ version: "v3" })).toMatchObject({ runId, version: null });
  });

  test("goes on when a worker of another version asks, and shows nothing of it then", async ({ flow, runId }) => {
    await misfits(flow, "v2");
    expect(await takenBy(flow, "v2")).toEqual([]);
    const run = await flow.take({ version: "v3" });
    expect(run).toMatchObject({ runId, version: "v1", journal: [{ key: "load" }, { key: "nap", status: "completed" }] });
    expect(await flow.get(runId)).toMatchObject({ status: "running", waitingFor: [] });
    await flow.end(run, { outcome: "completed" });
    expect(await flow.get(runId)).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("is not given to a version again that it did not fit, however many try it", async ({ service, flow, runId }) => {
    await misfits(flow, "v2");
    await misfits(flow, "v3");
    expect(await takenBy(flow, "v2")).toEqual([]);
    expect(await takenBy(flow, "v3")).toEqual([]);
    await service.advance(600);
    expect(await takenBy(flow, "v2")).toEqual([]);
    expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code", codeVersion: "v3" }] });
    expect(await takenBy(flow, "v1")).toEqual([runId]);
  });

  test("is tried again by a retry, with the same version too", async ({ service, flow, runId }) => {
    await misfits(flow, "v2");
    expect(await service.ok("POST", `/v1/runs/${runId}/retry`)).toMatchObject({ status: "running", waitingFor: [], attempt: 1 });
    expect(await takenBy(flow, "v2")).toEqual([runId]);
  });

  test("is tried again when code without a version is registered", async ({ service, flow, runId }) => {
    await misfits(flow, null);
    expect(await flow.get(runId)).toMatchObject({ waitingFor: [{ type: "code", codeVersion: null }] });
    expect(await takenBy(flow, null)).toEqual([]);
    const asked = flow.work({ workflows: [flow.id], wait: 10 });
    await service.ok("PUT", `/v1/workflows/${flow.id}`, {});
    expect((await asked).runs).toMatchObject([{ runId }]);
  });

  test("is tried again by code without a version after pauses that grow, and uses no attempt", async ({ service, flow, runId }) => {
    const pauses: number[] = [];
    for (let tries = 0; tries < 8; tries += 1) {
      await misfits(flow, null);
      const run = await flow.get(runId);
      expect(run).toMatchObject({ status: "waiting", attempt: 1, nextAttemptAt: null });
      const [{ retryAt = "" } = {}] = run.waitingFor;
      const seconds = (Date.parse(retryAt) - service.clock.nowMs()) / 1_000;
      await pass(service, flow, seconds);
      pauses.push(seconds);
    }
    expect(pauses).toEqual([30, 30, 60, 120, 240, 480, 900, 900]);
    const run = await flow.take();
    expect(await flow.get(runId)).toMatchObject({ status: "running", waitingFor: [] });
    await flow.end(run, { outcome: "completed" });
    expect(await flow.get(runId)).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("goes on with fitting code that came while other code without a version still asked", async ({ service, flow, runId }) => {
    for (const seconds of [30, 30, 60]) {
      await misfits(flow, null);
      await pass(service, flow, seconds);
    }
    await misfits(flow, null);
    expect(await flow.get(runId)).toMatchObject({ waitingFor: [{ retryAt: moment(service.clock.nowMs() + 120_000) }] });
    // The other code takes what the fitting code releases when it registers.
    await service.ok("PUT", `/v1/workflows/${flow.id}`, {});
    await misfits(flow, null);
    await service.advance(30);
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("waits for nothing but its steps when it has gone on, and not as long the next time", async ({ service, flow, runId }) => {
    for (const seconds of [30, 30, 60]) {
      await misfits(flow, null);
      await pass(service, flow, seconds);
    }
    const wait = { key: "approval", type: "wait", status: "waiting", signal: "approve.again", timeout: 100_000_000 };
    await flow.end(await flow.take(), { outcome: "suspended", steps: [wait] });
    expect((await flow.get(runId)).waitingFor).toMatchObject([{ type: "signal" }]);
    await service.ok("POST", "/v1/signals/approve.again/complete", "true");
    await misfits(flow, null);
    expect(await flow.get(runId)).toMatchObject({ waitingFor: [{ type: "code", retryAt: moment(service.clock.nowMs() + 30_000) }] });
  });

  test("is tried again, too, if code that has a version did not fit either", async ({ service, flow, runId }) => {
    await misfits(flow, null);
    await misfits(flow, "v2");
    expect(await flow.get(runId)).toMatchObject({ waitingFor: [{ codeVersion: "v2", retryAt: moment(service.clock.nowMs() + 30_000) }] });
    await service.advance(30);
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("goes on with code without a version that is registered, if only code that has a version did not fit", async ({
    service,
    flow,
    runId,
  }) => {
    await misfits(flow, "v2");
    await service.advance(1_000);
    expect(await takenBy(flow, "v2")).toEqual([]);
    await service.ok("PUT", `/v1/workflows/${flow.id}`, {});
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("goes on with code without a version that begins to ask, if only code that has a version did not fit", async ({ flow, runId }) => {
    await misfits(flow, "v2");
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("goes on after a pause with code without a version that asked meanwhile", async ({ service, flow, runId }) => {
    const as = { worker: "w-v2", version: "v2" };
    const run = await flow.take(as);
    expect(await takenBy(flow, null)).toEqual([]);
    await flow.work({ ...as, settle: [{ id: run.runId, lease_token: run.lease_token, ...unfit }] });
    expect(await takenBy(flow, null)).toEqual([]);
    await service.advance(30);
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("can be cancelled while it is due again", async ({ service, flow, runId }) => {
    await misfits(flow, null);
    await service.advance(30);
    expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code" }] });
    expect(await service.ok("POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: "cancelled", waitingFor: [] });
    expect(await takenBy(flow, null)).toEqual([]);
  });

  test("can be cancelled, and goes on after a retry with any version", async ({ service, flow, runId }) => {
    await misfits(flow, "v2");
    expect(await service.ok("POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: "cancelled", waitingFor: [] });
    expect(await takenBy(flow, "v3")).toEqual([]);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    expect(await takenBy(flow, "v3")).toEqual([runId]);
  });

  test("does not go on when its signal is completed, and has the payload when other code comes", async ({ service, flow }) => {
    const runId = await flow.trigger();
    const wait = { key: "approval", type: "wait", status: "waiting", signal: "approve.fit", timeout: 1_000 };
    await flow.end(await flow.take({ version: "v2" }), { outcome: "suspended", steps: [wait] });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    await misfits(flow, "v2");
    await service.ok("POST", "/v1/signals/approve.fit/complete", "true");
    expect(await takenBy(flow, "v2")).toEqual([]);
    expect(await flow.take({ version: "v3" })).toMatchObject({ runId, journal: [{ key: "approval", status: "completed", output: true }] });
  });

  test("does not go on when the run ends that it has invoked, and has its result when other code comes", async ({ service, flow }) => {
    const child = await putWorkflow(service);
    const runId = await flow.trigger();
    const { lease_token } = await flow.take({ version: "v2" });
    const invocation = { lease_token, key: "bill", workflow: child.id, input: null, timeout: 1_000_000 };
    await service.ok("POST", `/v1/runs/${runId}/invocations`, invocation);
    await flow.work({ version: "v2", settle: [{ id: runId, lease_token, ...unfit }] });
    expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code" }, { type: "invoke" }] });
    await child.end(await child.take(), { outcome: "completed", result: 7 });
    expect(await takenBy(flow, "v2")).toEqual([]);
    expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code" }, { type: "invoke" }] });
    expect(await flow.take({ version: "v3" })).toMatchObject({ runId, journal: [{ key: "bill", output: { result: 7 } }] });
  });

  test("is settled together with others, each of which goes where it belongs", async ({ service, flow }) => {
    const ids = [await flow.trigger(), await flow.trigger(), await flow.trigger(), await flow.trigger()];
    const as = { worker: "w-v2", version: "v2" };
    const { runs } = await flow.work({ ...as, workflows: [flow.id], limit: 4 });
    expect(runs).toHaveLength(4);
    const nap = { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 10_000 }] };
    const outcomes = [unfit, nap, { ...unfit, step: "other" }, { outcome: "completed" }];
    const ofRun = new Map(ids.map((id, index) => [id, outcomes[index]]));
    const settle = runs.map(({ runId, lease_token }) => ({ id: runId, lease_token, ...ofRun.get(runId) }));
    expect((await flow.work({ ...as, settle })).settled.map(({ ok }) => ok)).toEqual([true, true, true, true]);
    const shown = await Promise.all(ids.map((id) => flow.get(id)));
    expect(shown).toMatchObject([
      { status: "waiting", waitingFor: [{ type: "code", step: "load" }] },
      { status: "sleeping", waitingFor: [{ type: "sleep" }] },
      { status: "waiting", waitingFor: [{ type: "code", step: "other" }] },
      { status: "completed" },
    ]);
    await service.advance(11);
    const { runs: next } = await flow.work({ worker: "w-v3", version: "v3", workflows: [flow.id], limit: 4 });
    expect(next.map(({ runId }) => runId).sort()).toEqual([ids[0], ids[2]].sort());
    expect(await takenBy(flow, "v2")).toEqual([ids[1]]);
  });

  test("goes at once to the newest version that asks and has not tried it", async ({ service, flow, runId }) => {
    expect(await takenBy(flow, "v3")).toEqual([runId]);
    await service.ok("POST", "/v1/work", { worker: "w-v3", queues: [], settle: [] });
    const held = await flow.work({ worker: "w-v3", workflows: [flow.id], version: "v3" });
    expect(held.runs).toEqual([]);
  });

  test("is not given over and over to a version that it does not fit, by a node that does not know of the next one", async ({
    service,
    flow,
    runId,
  }) => {
    await misfits(flow, "v2");
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    await service.database.query(
      "insert into workflow_version select workspace_id, id, 'v9', moment(), moment() + interval '1 hour' from lane where name = $1",
      [flow.id],
    );
    await misfits(flow, "v2");
    await misfits(flow, "v2");
    expect(await takenBy(flow, "v2")).toEqual([]);
    await service.advance(31);
    expect(await takenBy(flow, "v9")).toEqual([runId]);
  });

  test("is released once by a registration, though code that it does not fit takes it again at once", async ({ service, flow, runId }) => {
    await misfits(flow, null);
    await waitForCode(service, flow, 600, "");
    await service.database.query(`
      create function park_again() returns trigger language plpgsql as $$ begin new.parked := true; return new; end $$;
      create trigger park_again before update on run_unfit for each row execute function park_again()`);
    await service.ok("PUT", `/v1/workflows/${flow.id}`, {});
    await service.database.query("drop function park_again cascade");
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("does not begin with a claim that was lost meanwhile, and goes on when other code comes", async ({
    service,
    flow,
    runId,
    engine,
  }) => {
    await misfits(flow, "v2");
    const { workspaceId, laneId } = await laneOfWorkflow(service, flow.id);
    const lost = { id: readRunId(runId) as RunId, laneId, execution: 1, leaseId: 999_999 };
    expect(await beginExecutions(engine, workspaceId, [lost], "v2")).toEqual([]);
    expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code" }] });
    expect(await takenBy(flow, "v3")).toEqual([runId]);
  });

  test("goes on behind many that were cancelled meanwhile", async ({ service, flow, runId }) => {
    await misfits(flow, "v2");
    await waitForCode(service, flow, 600, "v2");
    expect(await takenBy(flow, "v3")).toEqual([runId]);
  });
});

describe("a run that an earlier version of a node has tried again", () => {
  /** Its journal did not fit, and now it is being executed. The earlier version has left the record of that as it was. */
  async function taken(service: Service, flow: TestWorkflow) {
    await misfits(flow, null);
    await service.advance(30);
    const run = await flow.take();
    await service.database.query("update run_unfit set parked = true where run_id = $1", [readRunId(run.runId)]);
    return run;
  }

  test("waits for its signal, and is woken by that", async ({ service, flow, runId }) => {
    const run = await taken(service, flow);
    const wait = { key: "approval", type: "wait", status: "waiting", signal: "approve.old", timeout: 100_000_000 };
    await flow.end(run, { outcome: "suspended", steps: [wait] });
    expect((await flow.get(runId)).waitingFor).toMatchObject([{ type: "signal" }]);
    await service.ok("POST", "/v1/signals/approve.old/complete", "true");
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("waits for the run that it has invoked, and is woken by that", async ({ service, flow, runId }) => {
    const child = await putWorkflow(service);
    const { lease_token } = await taken(service, flow);
    const invocation = { lease_token, key: "bill", workflow: child.id, input: null, timeout: 1_000_000 };
    await service.ok("POST", `/v1/runs/${runId}/invocations`, invocation);
    await flow.work({ settle: [{ id: runId, lease_token, outcome: "suspended" }] });
    await child.end(await child.take(), { outcome: "completed", result: 7 });
    expect(await takenBy(flow, null)).toEqual([runId]);
  });

  test("waits for its call, and is woken by that", async ({ service, flow, runId }) => {
    const run = await taken(service, flow);
    const target = await service.handler();
    const call = { key: "call", type: "http", status: "waiting", http: { url: target.url } };
    await flow.end(run, { outcome: "suspended", steps: [call] });
    await until(async () => (await takenBy(flow, null))[0] === runId, "the run to go on");
  });
});

describe("the outcome unfit", () => {
  test("needs the step, and is only for runs", async ({ service, flow, runId }) => {
    const run = await flow.take();
    expect(run.runId).toBe(runId);
    expect(await flow.end(run, { outcome: "unfit" })).toMatchObject({ ok: false, code: "VALIDATION_ERROR", message: /step is required/ });
    expect(await flow.end(run, { outcome: "unfit", step: "load", result: 1 })).toMatchObject({ ok: false, code: "VALIDATION_ERROR" });
    const queue = await service.ok("POST", "/v1/queues", { name: "unfit" });
    await service.ok("POST", `/v1/queues/${queue.name}/jobs`, { payload: 1 });
    const [job] = (await service.ok("POST", "/v1/work", { worker: "w1", queues: [queue.name] })).jobs;
    const settle = [{ id: job.id, lease_token: job.lease_token, ...unfit }];
    expect((await service.ok("POST", "/v1/work", { worker: "w1", queues: [], settle })).settled).toMatchObject([
      { ok: false, message: "The outcome unfit is only for runs that have not ended." },
    ]);
  });
});
