import { describe, expect } from "vitest";
import { joinedBy } from "../harness/nodes.ts";
import { test as base } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const nap = (seconds: number) => ({
  outcome: "suspended",
  steps: [{ key: `nap ${seconds}`, type: "sleep", status: "waiting", sleepFor: seconds * 1_000 }],
});

const test = base.extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service));

/** What a worker of this version takes at once. */
const takenBy = async (flow: TestWorkflow, version: string | null, limit = 10) =>
  (await flow.work({ worker: `w-${version}`, workflows: [flow.id], limit, ...(version && { version }) })).runs;
const idsTakenBy = async (flow: TestWorkflow, version: string | null, limit?: number) =>
  (await takenBy(flow, version, limit)).map(({ runId }) => runId);

/** Runs that a worker of this version began, and that are due again. */
async function begun(flow: TestWorkflow, version: string, count = 1): Promise<string[]> {
  for (let at = 0; at < count; at += 1) await flow.trigger();
  const runs = await takenBy(flow, version, count);
  expect(runs).toHaveLength(count);
  for (const run of runs) await flow.end(run, { outcome: "released" });
  return runs.map(({ runId }) => runId);
}

describe("a run", () => {
  test("goes to workers of the version that started it while they ask, and others go to anyone", async ({ flow }) => {
    const [old = ""] = await begun(flow, "v1");
    expect(await idsTakenBy(flow, "v2")).toEqual([]);
    expect(await flow.get(old)).toMatchObject({ waitingFor: [{ type: "worker", version: "v1" }] });
    const young = await flow.trigger();
    expect(await idsTakenBy(flow, "v2")).toEqual([young]);
    expect(await takenBy(flow, "v1")).toMatchObject([{ runId: old, version: "v1" }]);
    expect(await flow.get(old)).toMatchObject({ waitingFor: [] });
  });

  test("goes to the newest version when its own has not asked for 90 s, and not to one between", async ({ service, flow }) => {
    const [run = ""] = await begun(flow, "v1");
    await idsTakenBy(flow, "v2");
    await service.advance(60);
    await idsTakenBy(flow, "v2");
    await idsTakenBy(flow, "v3");
    expect(await idsTakenBy(flow, "v3")).toEqual([]);
    await service.advance(31);
    expect(await idsTakenBy(flow, "v2")).toEqual([]);
    expect(await takenBy(flow, "v3")).toMatchObject([{ runId: run, version: "v1" }]);
  });

  test("goes to any worker when only that one asks, also without a version", async ({ service, flow }) => {
    const [run = ""] = await begun(flow, "v1");
    await service.advance(91);
    expect(await idsTakenBy(flow, null)).toEqual([run]);
  });

  test("is refused to workers of a 101st version, until one of the others has not asked for 90 s", async ({ service, flow }) => {
    const versions = Array.from({ length: 100 }, (_, n) => `v${n}`);
    for (const version of versions) await takenBy(flow, version);
    const call = { worker: "w", workflows: [flow.id], version: "v100" };
    const refused = await service.api("POST", "/v1/work", call);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "INVALID_STATE", details: { workflow: flow.id, limit: 100 } } } });
    expect(refused.body.error.message).toContain(`Workers of 100 other versions ask for runs of the workflow "${flow.id}".`);
    expect(await takenBy(flow, "v0")).toEqual([]);
    await service.advance(91);
    expect((await service.api("POST", "/v1/work", call)).status).toBe(200);
  });

  test("that was begun without a version goes to anyone", async ({ flow }) => {
    const id = await flow.trigger();
    await flow.end(await flow.take(), { outcome: "released" });
    await idsTakenBy(flow, "v1", 1).then(async ([taken]) => expect(taken).toBe(id));
  });

  test("stays with a version that extends leases and asks for no more", async ({ service, flow }) => {
    const ids = await begun(flow, "v1", 2);
    const [held] = await takenBy(flow, "v1", 1);
    await service.advance(20);
    for (let passed = 0; passed < 120; passed += 20) {
      const leases = [{ id: held?.runId, lease_token: held?.lease_token }];
      expect(await service.ok("POST", "/v1/work/extend", { worker: "w-v1", leases })).toMatchObject({ leases: [{ ok: true }] });
      expect(await idsTakenBy(flow, "v2")).toEqual([]);
      await service.advance(20);
    }
    expect(await idsTakenBy(flow, "v1")).toEqual(ids.filter((id) => id !== held?.runId));
  });

  test("of a version that is gone goes to a worker that waits", async ({ service, flow }) => {
    const [run = ""] = await begun(flow, "v1");
    await service.advance(89.5);
    const asked = flow.work({ worker: "w-v2", workflows: [flow.id], version: "v2", wait: 20 });
    await service.advance(1);
    expect((await asked).runs).toMatchObject([{ runId: run }]);
  });

  test("keeps to its version at all nodes", async ({ service, flow }) => {
    const [run = ""] = await begun(flow, "v1");
    const other = await joinedBy(service, {});
    const ask = { queues: [], workflows: [flow.id], limit: 10 };
    expect((await other.ok("POST", "/v1/work", { worker: "w2", version: "v2", ...ask })).runs).toEqual([]);
    expect((await other.ok("POST", "/v1/work", { worker: "w1", version: "v1", ...ask })).runs).toMatchObject([{ runId: run }]);
    await other.node.stop();
    await other.close();
  });

  test("is found behind many of another version", async ({ flow }) => {
    await begun(flow, "v1", 30);
    const ids = [...(await begun(flow, "v2", 2)), await flow.trigger()];
    const [first, second] = [await idsTakenBy(flow, "v2", 2), await idsTakenBy(flow, "v2", 2)];
    expect([first.length, [...first, ...second].toSorted()]).toEqual([2, ids.toSorted()]);
    expect(await idsTakenBy(flow, "v1", 50)).toHaveLength(30);
  });

  test("keeps to the limit of its workflow while several versions ask", async ({ service }) => {
    const flow = await putWorkflow(service, { concurrency: 2 });
    await begun(flow, "v1", 2);
    await begun(flow, "v2", 2);
    expect(await idsTakenBy(flow, "v1", 1)).toHaveLength(1);
    expect(await idsTakenBy(flow, "v2", 5)).toHaveLength(1);
    expect(await idsTakenBy(flow, "v1", 5)).toEqual([]);
  });

  test("that failed and is retried goes on with its version", async ({ service, flow }) => {
    const [run = ""] = await begun(flow, "v1");
    const [taken] = await takenBy(flow, "v1");
    await flow.end(taken as never, { outcome: "failed", error: "No.", retry: false });
    await service.ok("POST", `/v1/runs/${run}/retry`);
    expect(await idsTakenBy(flow, "v2")).toEqual([]);
    expect(await idsTakenBy(flow, "v1")).toEqual([run]);
  });

  test("that sleeps wakes for its version", async ({ service, flow }) => {
    await flow.trigger();
    const run = await flow.take({ worker: "w-v1", version: "v1" });
    await flow.end(run, nap(30));
    await service.advance(31);
    expect(await idsTakenBy(flow, "v2")).toEqual([]);
    expect(await idsTakenBy(flow, "v1")).toEqual([run.runId]);
  });
});
