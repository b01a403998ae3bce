import type { Run, TakenHook } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { sql, uuidOf } from "#kernel";
import { recordSlowHooks } from "../../src/workflows/hooks/hook-kind.ts";
import { auditLog } from "../harness/audit.ts";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { type Service, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow as put, type TestWorkflow } from "../harness/workflows.ts";

const HOOKS = ["onSuccess", "onFailure", "onCancel"];
const SLEEP = { outcome: "suspended", steps: [{ key: "s", type: "sleep", status: "waiting", sleepFor: 60_000 }] };
const WAIT = { outcome: "suspended", steps: [{ key: "w", type: "wait", status: "waiting", signal: "w.hooks", timeout: 60_000 }] };
const FAILED = { outcome: "failed", error: "It broke.", error_name: "RangeError" };

const putWorkflow = (service: Service, settings: object = {}) =>
  put(service, { hooks: HOOKS, backoff: { type: "exponential", delay: 0 }, ...settings });

/** The hooks that wait. */
const takeHooks = async ({ id, work }: TestWorkflow): Promise<TakenHook[]> => (await work({ workflows: [id], limit: 10 })).hooks;

/** Takes one hook, which must come. */
async function takeHook({ id, work }: TestWorkflow, more: object = {}): Promise<TakenHook> {
  const [hook] = (await work({ workflows: [id], wait: 10, ...more })).hooks;
  if (!hook) throw new Error("There was no hook to take.");
  return hook;
}

const settle = async ({ work }: TestWorkflow, { id, lease_token }: TakenHook, outcome: object) =>
  (await work({ settle: [{ id, lease_token, ...outcome }] })).settled[0];

const auditOf = async (service: Service, type: string) => (await service.ok("GET", `/v1/audit-events?event_type=${type}`)).data;

const start = async (workflow: TestWorkflow) => {
  await workflow.trigger({ input: 1 });
  return workflow.take();
};

describe("Run states", () => {
  for (const status of ["running", "sleeping", "waiting"] as const) {
    test(`${status}, cancel: cancelled, and onCancel fires`, async ({ service }) => {
      const workflow = await putWorkflow(service);
      const run = await start(workflow);
      if (status !== "running") await workflow.end(run, status === "sleeping" ? SLEEP : WAIT);
      expect(await workflow.get(run.runId)).toMatchObject({ status });
      await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
      expect(await takeHook(workflow)).toMatchObject({
        hook: "onCancel",
        runId: run.runId,
        workflowId: workflow.id,
        attempt: 1,
        error: null,
      });
      expect(await workflow.get(run.runId)).toMatchObject({ status: "cancelled" });
    });
  }

  test("pending, cancel: cancelled, and onCancel does not fire", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await service.ok("POST", `/v1/runs/${await workflow.trigger()}/cancel`);
    expect(await takeHooks(workflow)).toEqual([]);
  });

  test("running, all retries end in success: completed, and onSuccess fires once, though earlier attempts failed", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await workflow.end(await start(workflow), FAILED);
    await service.advance(1);
    const run = await workflow.take();
    await workflow.end(run, { outcome: "completed", result: { ok: true } });
    const hook = await takeHook(workflow);
    expect(hook).toMatchObject({ hook: "onSuccess", runId: run.runId, attempt: 2, result: { ok: true } });
    expect(hook.id).toMatch(/^hook_/);
    expect(await settle(workflow, hook, { outcome: "completed" })).toMatchObject({ ok: true });
    expect(await takeHooks(workflow)).toEqual([]);
    expect(await workflow.get(run.runId)).toMatchObject({ status: "completed", hookErrors: [] });
  });

  test("running, retries exhausted: failed, and onFailure fires once; failures of attempts do not fire it", async ({ service }) => {
    const workflow = await putWorkflow(service, { attempts: 2 });
    await workflow.end(await start(workflow), FAILED);
    expect(await takeHooks(workflow)).toEqual([]);
    await service.advance(1);
    const run = await workflow.take();
    await workflow.end(run, FAILED);
    const hook = await takeHook(workflow);
    expect(hook).toMatchObject({ hook: "onFailure", runId: run.runId, attempt: 2, error: { name: "RangeError", message: "It broke." } });
    expect(hook).not.toHaveProperty("result");
    expect(await takeHooks(workflow)).toEqual([]);
    expect(await workflow.get(run.runId)).toMatchObject({ status: "failed" });
  });
});

/** A run that has completed, and its hook. */
async function completed(
  service: Service,
  more: object = {},
): Promise<{ workflow: TestWorkflow; hook: TakenHook; get: () => Promise<Run> }> {
  const workflow = await putWorkflow(service);
  const run = await start(workflow);
  await workflow.end(run, { outcome: "completed" });
  return { workflow, hook: await takeHook(workflow, more), get: () => workflow.get(run.runId) };
}

describe("Lifecycle hooks", () => {
  test("1: an error in a hook never changes the run's status, and the hook does not fire again", async ({ service }) => {
    const { workflow, hook, get } = await completed(service);
    await settle(workflow, hook, { outcome: "failed", error: "No mail today." });
    expect(await get()).toMatchObject({ status: "completed" });
    await service.advance(3_600);
    expect(await takeHooks(workflow)).toEqual([]);
  });

  test("2: an error in a hook is in hookErrors, and an audit event workflow.hook.errored", async ({ service }) => {
    const { workflow, hook, get } = await completed(service);
    await settle(workflow, hook, { outcome: "failed", error: "No mail today." });
    expect((await get()).hookErrors).toEqual([{ hook: "onSuccess", message: "No mail today.", occurredAt: expect.any(String) }]);
    expect(await auditOf(service, "workflow.hook.errored")).toMatchObject([
      {
        actor_id: "system",
        resource_type: "run",
        resource_id: hook.runId,
        output: { hook: "onSuccess", workflow: workflow.id, message: "No mail today." },
      },
    ]);
  });

  test("2: a hook whose worker is lost is an error too", async ({ service }) => {
    const { workflow, get } = await completed(service, { lease: 1 });
    await service.advance(2);
    await until(async () => (await get()).hookErrors.length > 0, "the lease to end");
    expect(await get()).toMatchObject({
      status: "completed",
      hookErrors: [{ hook: "onSuccess", message: expect.stringContaining("lease") }],
    });
    expect(await takeHooks(workflow)).toEqual([]);
    expect(await auditOf(service, "workflow.hook.errored")).toHaveLength(1);
  });

  for (const [seconds, events] of [
    [30, 0],
    [31, 1],
  ] as const) {
    test(`3: a hook that takes ${seconds} s is ${events ? "recorded as slow, and not killed" : "not slow"}`, async ({ service }) => {
      const { workflow, hook, get } = await completed(service, { lease: 60 });
      await service.clock.advance(seconds + 0.0004);
      expect(await settle(workflow, hook, { outcome: "completed" })).toMatchObject({ ok: true });
      const found = await auditOf(service, "workflow.hook.slow");
      expect(found).toHaveLength(events);
      if (events) expect(found).toMatchObject([{ resource_id: hook.runId, output: { hook: "onSuccess", took_ms: 31_000 } }]);
      expect((await get()).hookErrors).toEqual([]);
    });
  }

  test("3: a hook that does not end is recorded as slow while it runs, once", async ({ service, engine }) => {
    const { workflow, hook, get } = await completed(service, { lease: 600 });
    const slow = () => auditOf(service, "workflow.hook.slow");
    const record = () => recordSlowHooks(engine, auditLog);
    await service.clock.advance(30);
    await record();
    expect(await slow()).toEqual([]);
    await service.clock.advance(1);
    service.node.wake();
    await until(async () => (await slow()).length > 0, "the hook to be recorded as slow");
    await Promise.all([record(), record()]);
    await service.clock.advance(100);
    expect(await settle(workflow, hook, { outcome: "failed", error: "It broke." })).toMatchObject({ ok: true });
    expect(await slow()).toMatchObject([{ resource_id: hook.runId, output: { hook: "onSuccess", took_ms: 31_000, running: true } }]);
    expect((await get()).hookErrors).toMatchObject([{ message: "It broke." }]);
  });

  test("4: the context offers runId, functionId and attempt: the worker gets them", async ({ service }) => {
    const { workflow, hook } = await completed(service);
    expect(hook).toMatchObject({ workflowId: workflow.id, runId: expect.stringMatching(/^run_/), attempt: 1 });
  });

  test("5: no other hooks exist", async ({ service }) => {
    const { status } = await service.api("PUT", "/v1/workflows/w", { hooks: ["onStart"] });
    expect(status).toBe(400);
  });

  test("a workflow without a hook has none to fire", async ({ service }) => {
    const workflow = await putWorkflow(service, { hooks: ["onFailure"] });
    await workflow.end(await start(workflow), { outcome: "completed" });
    expect(await takeHooks(workflow)).toEqual([]);
  });

  test("a worker that waits gets a hook when its run has ended, or was cancelled", async ({ service }) => {
    const workflow = await putWorkflow(service);
    const [done, cancelled] = [await start(workflow), await start(workflow)];
    const first = takeHook(workflow, { worker: "w2", wait: 20 });
    await workflow.end(done, { outcome: "completed" });
    expect((await first).hook).toBe("onSuccess");
    const second = takeHook(workflow, { worker: "w2", wait: 20 });
    await service.ok("POST", `/v1/runs/${cancelled.runId}/cancel`);
    expect((await second).hook).toBe("onCancel");
  });

  test("a hook that a worker releases is another worker's", async ({ service }) => {
    const { workflow, hook } = await completed(service);
    await settle(workflow, hook, { outcome: "released" });
    expect(await takeHook(workflow)).toMatchObject({ id: hook.id });
  });

  test("a hook that a repeated call has got is not released by the first one, which nobody waits for any more", async ({
    service,
    engine,
  }) => {
    const workflow = await putWorkflow(service);
    const [first, run] = [await start(workflow), await start(workflow)];
    await workflow.end(run, { outcome: "completed" });
    const locked = hold(engine, sql`select from job where id = ${uuidOf("run", first.runId)} for update`);
    await locked.held;
    // The call has taken the hook, and waits until the end of another run is stored.
    const call = { worker: "w1", queues: [], workflows: [workflow.id], request: "r1" };
    const settles = [{ id: first.runId, lease_token: first.lease_token, outcome: "completed" }];
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ ...call, repeat: false, settle: settles });
    const broken = fetch(`${service.node.url}/v1/work`, { method: "POST", headers, body, signal: gone.signal }).catch(() => null);
    const { laneId } = await laneOfWorkflow(service, workflow.id);
    const active = "select from job where lane_id = $1 and kind = 'hook' and state = 'active'";
    await until(async () => (await service.database.query(active, [laneId])).length > 0, "the call to take the hook");
    gone.abort();
    await broken;
    const [hook] = (await workflow.work(call)).hooks;
    expect(hook).toMatchObject({ runId: run.runId });
    await locked.release();
    // The end of the other run has a hook as well, and no other comes.
    expect(await takeHook(workflow, { worker: "w2" })).toMatchObject({ runId: first.runId });
    expect(await settle(workflow, hook as TakenHook, { outcome: "completed" })).toMatchObject({ ok: true });
    expect(await takeHooks(workflow)).toEqual([]);
  });

  test("of a cancel and an end at the same time, one hook fires: that of the one that won", async ({ service }) => {
    const workflow = await putWorkflow(service);
    for (let round = 0; round < 10; round += 1) {
      const run = await start(workflow);
      const end = workflow.end(run, { outcome: "completed" });
      const [cancel] = await Promise.all([service.api("POST", `/v1/runs/${run.runId}/cancel`), end]);
      const hooks = await takeHooks(workflow);
      expect(hooks.map(({ hook, runId }) => [hook, runId])).toEqual([[cancel.status === 200 ? "onCancel" : "onSuccess", run.runId]]);
    }
  });
});

test("a hook counts in the concurrency of its workflow, and comes before the runs that wait", async ({ service }) => {
  const workflow = await putWorkflow(service, { concurrency: 1 });
  const first = await start(workflow);
  const second = await workflow.trigger({ input: 2 });
  await workflow.end(first, { outcome: "completed", result: 1 });
  const hook = await takeHook(workflow);
  expect(hook).toMatchObject({ hook: "onSuccess", runId: first.runId });
  expect(await workflow.work({ workflows: [workflow.id], limit: 10 })).toMatchObject({ runs: [], hooks: [] });
  await settle(workflow, hook, { outcome: "completed" });
  expect(await workflow.take()).toMatchObject({ runId: second });
});
