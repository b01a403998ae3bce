import type { Settled, TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { test as base, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const LOST = { ok: false, code: "LEASE_LOST" };
const STEP = { key: "a", type: "run", status: "completed", output: 1, undoable: true };
const NAP = { key: "nap", type: "sleep", status: "waiting", sleepFor: 3_600_000 };
const UNDO = { key: "undo(a)", type: "undo", status: "completed" };

const test = base.extend<"flow", TestWorkflow>("flow", ({ service }) =>
  putWorkflow(service, { attempts: 2, backoff: { type: "exponential", delay: 1_000 } }),
);

/** A call that reports the end of an execution, and may be repeated. */
async function report(flow: TestWorkflow, { runId: id, lease_token }: TakenRun, outcome: object): Promise<Settled> {
  const { settled } = await flow.work({ request: "r1", settle: [{ id, lease_token, ...outcome }] });
  return settled[0] as Settled;
}

describe("a repeated call with the outcome of an execution", () => {
  test.for([
    { outcome: "completed", result: 1 },
    { outcome: "failed", error: "No." },
    { outcome: "failed", error: "No.", retry: false },
    { outcome: "suspended", steps: [NAP] },
    { outcome: "unfit", step: "a", error: "No." },
    { outcome: "released", retry_in: 3_600 },
  ])("is told that it is stored: %o", async (outcome, { flow }) => {
    const runId = await flow.trigger();
    const run = await flow.take();
    expect(await report(flow, run, outcome)).toMatchObject({ ok: true });
    const left = await flow.get(runId);
    expect(await report(flow, run, outcome)).toEqual({ id: runId, ok: true, code: null, message: null });
    expect(await flow.get(runId)).toEqual(left);
  });

  test("is told that it is stored: of the execution that undoes a cancelled run", async ({ service, flow }) => {
    const runId = await flow.trigger();
    const { lease_token } = await flow.take();
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [STEP] });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const undoing = await flow.take();
    for (let times = 0; times < 2; times += 1)
      expect(await report(flow, undoing, { outcome: "completed", result: null, steps: [UNDO] })).toMatchObject({ ok: true });
  });

  test("is refused if the lease ran out before, also when the execution failed with that", async ({ service, flow }) => {
    const runId = await flow.trigger();
    for (const status of ["running", "failed"]) {
      const run = await flow.take({ lease: 10 });
      await service.advance(11);
      await until(async () => {
        const { status: now, error } = await flow.get(runId);
        return now === status && error?.name === "LEASE_EXPIRED";
      }, "the execution to fail");
      for (const outcome of ["failed", "completed", "suspended"]) expect(await report(flow, run, { outcome })).toMatchObject(LOST);
      await service.advance(5);
    }
  });

  test("is refused if the run was cancelled before", async ({ service, flow }) => {
    const runId = await flow.trigger();
    const run = await flow.take();
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect(await report(flow, run, { outcome: "completed" })).toMatchObject(LOST);
  });

  test("is refused for an earlier execution than the last one that was reported", async ({ service, flow }) => {
    await flow.trigger();
    const first = await flow.take();
    await report(flow, first, { outcome: "suspended", steps: [{ ...NAP, sleepFor: 1_000 }] });
    await service.advance(2);
    await report(flow, await flow.take(), { outcome: "completed" });
    expect(await report(flow, first, { outcome: "suspended" })).toMatchObject(LOST);
  });
});
