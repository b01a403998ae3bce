import { LIMITS, type TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import type { RunId } from "#kernel";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { findLostSignalsAcrossWorkspaces, registerSignalsAcrossWorkspaces } from "../../src/workflows/signals/signal-store.ts";
import { cancelWaitsAcrossWorkspaces } from "../../src/workflows/steps/wait-store.ts";
import { test } from "../harness/engine.ts";
import type { Service } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

/** A statement that compares each of so many steps with all others takes longer than statements may. */
const MANY = 3_000;
const CANCELLED = 500;

const many = <Step>(step: (number: number) => Step): Step[] => Array.from({ length: MANY }, (_, number) => step(number));

async function report(service: Service, { runId, lease_token }: TakenRun, steps: readonly object[]): Promise<void> {
  for (let at = 0; at < steps.length; at += LIMITS.reportedSteps)
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: steps.slice(at, at + LIMITS.reportedSteps) });
}

describe("a run with thousands of steps", () => {
  test.for([
    { name: "whose sleeps end together goes on", step: { type: "sleep", sleepFor: 1_000 }, status: "completed" },
    { name: "whose waits time out together goes on", step: { type: "wait", timeout: 1_000 }, status: "failed" },
  ])("$name", async ({ step, status }, { service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const run = await workflow.take();
    const steps = many((number) => ({
      key: `step ${number}`,
      status: "waiting",
      ...step,
      ...(step.type === "wait" && { signal: `${run.runId}.${number}` }),
    }));
    await report(service, run, steps.slice(1));
    expect(await workflow.end(run, { outcome: "suspended", steps: steps.slice(0, 1) })).toMatchObject({ ok: true });
    await service.advance(2);
    const { journal } = await workflow.take();
    expect(journal?.map((one) => one.status)).toEqual(steps.map(() => status));
    expect(await service.database.query("select id from signal where run_id = $1", [readRunId(run.runId)])).toEqual([]);
  });

  test("of which many wait for signals that are registered and cancelled together goes on", async ({ service, engine }) => {
    const workflow = await putWorkflow(service);
    const { workspaceId } = await laneOfWorkflow(service, workflow.id);
    await workflow.trigger();
    const run = await workflow.take();
    const key = { workspaceId, id: readRunId(run.runId) as RunId };
    const asked = many((number) => ({ ...key, key: `step ${number}`, signal: `${run.runId}.${number}` }));
    const waits = asked.map((step) => ({ key: step.key, type: "wait", status: "waiting", timeout: 3_600_000, signal: step.signal }));
    await report(service, run, waits);
    await engine.transaction(async (tx) => {
      expect(await registerSignalsAcrossWorkspaces(tx, asked, false)).toHaveLength(MANY);
      // As many as a few reports have, some of them twice. All would take long by the index of a constraint that only tests have.
      const cancelled = [...asked.slice(0, CANCELLED), ...asked.slice(0, 10)];
      await cancelWaitsAcrossWorkspaces(tx, cancelled);
      expect(await findLostSignalsAcrossWorkspaces(tx, cancelled)).toHaveLength(CANCELLED);
    });
    const found = await service.database.query("select status, count(*)::int from run_step where run_id = $1 group by 1 order by 1", [
      key.id,
    ]);
    expect(found).toEqual([
      { status: "waiting", count: MANY - CANCELLED },
      { status: "cancelled", count: CANCELLED },
    ]);
  });

  test("that is retried keeps all but those that it executes again", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await workflow.trigger();
    const run = await workflow.take();
    const steps = many((number) => ({ key: `step ${number}`, type: "run", status: "completed", output: number }));
    await report(service, run, steps);
    await workflow.end(run, { outcome: "failed", error: "no", retry: false, retry_steps: ["step 0"] });
    await service.ok("POST", `/v1/runs/${run.runId}/retry`);
    expect((await workflow.take()).journal?.map((one) => one.key)).toEqual(steps.slice(1).map((one) => one.key));
  });
});
