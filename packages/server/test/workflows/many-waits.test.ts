import { LIMITS, type TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { readRunId } from "../../src/workflows/run.ts";
import { type Service, test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

/** A statement that compares each of so many steps with all others takes longer than statements may. */
const MANY = 3_000;

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
