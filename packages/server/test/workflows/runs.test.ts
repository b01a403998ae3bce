import { describe, expect } from "vitest";
import { joinedBy } from "../harness/nodes.ts";
import { test, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const LOST = { ok: false, code: "LEASE_LOST" };

describe("a run", () => {
  test("is executed by a worker that asks for its workflow, and completed", async ({ service }) => {
    const { id, trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger({ input: { userId: "u1" } });
    expect(await get(runId)).toMatchObject({ status: "pending", startedAt: null, input: { userId: "u1" } });
    const run = await take({ version: "v1" });
    expect(run).toMatchObject({ runId, workflowId: id, version: "v1", attempt: 1, attempts: 3, input: { userId: "u1" }, journal: [] });
    expect(await get(runId)).toMatchObject({ status: "running", version: "v1" });
    expect(await end(run, { outcome: "completed", result: [1] })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", result: [1], error: null, endedAt: expect.any(String) });
  });

  test("comes to a worker that waits, also at another node", async ({ service }) => {
    const { id, trigger } = await putWorkflow(service);
    const other = await joinedBy(service, {});
    const asked = other.ok("POST", "/v1/work", { worker: "w2", queues: [], workflows: [id], wait: 30 });
    const runId = await trigger();
    expect((await asked).runs).toMatchObject([{ runId }]);
    await other.node.stop();
    await other.close();
  });

  test("keeps the version of the code that executed it first", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    await trigger();
    await end(await take({ version: "v1" }), { outcome: "released" });
    await service.advance(91);
    expect(await take({ version: "v2" })).toMatchObject({ version: "v1" });
  });

  test("starts after its delay", async ({ service }) => {
    const { id, trigger, take, work } = await putWorkflow(service);
    const runId = await trigger({ delay: 60 });
    expect((await work({ workflows: [id] })).runs).toEqual([]);
    await service.advance(61);
    expect(await take()).toMatchObject({ runId });
  });

  test("whose execution fails is executed again after its backoff, with its journal", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service, { attempts: 2, backoff: { type: "exponential", delay: 5_000 } });
    const runId = await trigger();
    const first = await take();
    await service.ok("POST", `/v1/runs/${runId}/steps`, {
      lease_token: first.lease_token,
      steps: [{ key: "load", type: "run", status: "completed", output: 1 }],
    });
    await end(first, { outcome: "failed", error: "No answer.", error_name: "TypeError" });
    expect(await get(runId)).toMatchObject({
      status: "running",
      attempt: 2,
      error: { name: "TypeError", message: "No answer." },
      nextAttemptAt: expect.any(String),
    });
    await service.advance(7);
    const second = await take();
    expect(second).toMatchObject({ attempt: 2, journal: [{ key: "load", output: 1 }] });
    await end(second, { outcome: "failed", error: "Again." });
    expect(await get(runId)).toMatchObject({
      status: "failed",
      attempt: 2,
      error: { name: "Error", message: "Again." },
      nextAttemptAt: null,
    });
  });

  test("that is suspended while no step of it waits has failed: it is executed again after its backoff, while attempts are left", async ({
    service,
  }) => {
    const { id, trigger, take, end, get, work } = await putWorkflow(service, {
      attempts: 2,
      backoff: { type: "exponential", delay: 60_000 },
      hooks: ["onFailure"],
    });
    const runId = await trigger();
    const error = { name: "NothingAwaitedError", message: "The execution was suspended, but no step of the run waits." };
    expect(await end(await take(), { outcome: "suspended", steps: [] })).toMatchObject({ ok: true });
    expect((await work({ workflows: [id] })).runs).toEqual([]);
    expect(await get(runId)).toMatchObject({ status: "running", attempt: 2, error, nextAttemptAt: expect.any(String) });
    await service.advance(60);
    expect(await end(await take(), { outcome: "suspended", steps: [] })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "failed", attempt: 2, error, nextAttemptAt: null });
    expect((await work({ workflows: [id] })).hooks).toMatchObject([{ hook: "onFailure", runId, error }]);
  });

  test("may be suspended with a wait that an earlier execution has reported, and has all attempts", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service, { attempts: 1 });
    const runId = await trigger();
    const sleep = (key: string, sleepFor: number) => ({ key, type: "sleep", status: "waiting", sleepFor });
    await end(await take(), { outcome: "suspended", steps: [sleep("long", 120_000), sleep("short", 60_000)] });
    await service.advance(61);
    await end(await take(), { outcome: "suspended" });
    expect(await get(runId)).toMatchObject({ status: "sleeping", attempt: 1, error: null });
  });

  test("fails at once when its program wants no further attempt", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "failed", error: "No such user.", retry: false });
    expect(await get(runId)).toMatchObject({ status: "failed", attempt: 1, result: null });
  });

  test("may return as much as one of its steps, and its hook gets all of it", async ({ service }) => {
    const { id, trigger, take, end, get, work } = await putWorkflow(service, { hooks: ["onSuccess"] });
    const runId = await trigger();
    const run = await take();
    const [fits, tooLong] = ["x".repeat(1024 * 1024 - 2), "x".repeat(1024 * 1024 - 1)];
    const message = "The result has 1048577 bytes; the limit is 1048576 bytes.";
    expect(await end(run, { outcome: "completed", result: tooLong })).toMatchObject({ ok: false, code: "PAYLOAD_TOO_LARGE", message });
    expect(await end(run, { outcome: "completed", result: fits })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", result: fits });
    const [hook] = (await work({ workflows: [id], wait: 10 })).hooks;
    expect(hook?.result).toBe(fits);
  });

  test("completes without its earlier error", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "failed", error: "No answer." });
    await service.advance(2);
    await end(await take(), { outcome: "completed", result: "ok" });
    expect(await get(runId)).toMatchObject({ status: "completed", error: null, attempt: 2, result: "ok" });
  });

  test("that its worker releases is executed again, and no attempt is used", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    await trigger();
    await end(await take(), { outcome: "released" });
    expect(await take()).toMatchObject({ attempt: 1 });
  });

  test("whose worker lets its lease end is executed again as a further attempt; what the worker reports then is refused", async ({
    service,
  }) => {
    const { id, trigger, take, end, get } = await putWorkflow(service, { backoff: { type: "exponential", delay: 10 } });
    const runId = await trigger();
    const late = await take({ lease: 10 });
    await service.advance(11);
    await until(async () => (await get(runId)).error?.name === "LEASE_EXPIRED", "the lease to end");
    await service.advance(5);
    const again = await take({ worker: "w2" });
    expect(again).toMatchObject({ runId, workflowId: id, attempt: 2 });
    expect(await end(late, { outcome: "completed" })).toMatchObject(LOST);
    const steps = [{ key: "a", type: "run", status: "completed" }];
    const refused = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token: late.lease_token, steps });
    expect([refused.status, refused.body.error.code]).toEqual([409, "LEASE_LOST"]);
    expect(await get(runId)).toMatchObject({ status: "running", steps: [], error: { name: "LEASE_EXPIRED" } });
  });

  test("cannot be settled as a job, nor a job as a run", async ({ service }) => {
    const { trigger, take, work } = await putWorkflow(service);
    await trigger();
    const run = await take();
    const queue = await service.queue();
    await service.enqueue({ queue });
    const [job] = (await work({ queues: [queue] })).jobs;
    const settle = [
      { id: run.runId.replace("run_", "job_"), lease_token: run.lease_token, outcome: "completed" },
      { id: job?.id, lease_token: job?.lease_token, outcome: "suspended" },
      { id: job?.id, lease_token: job?.lease_token, outcome: "failed", error_name: "TypeError" },
    ];
    const { settled } = await work({ settle });
    expect(settled.map(({ ok, code }) => [ok, code])).toEqual(settle.map(() => [false, "VALIDATION_ERROR"]));
  });
});
