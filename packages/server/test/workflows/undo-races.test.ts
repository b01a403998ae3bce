import { describe, expect } from "vitest";
import type { NamedClaim } from "#jobs";
import { type Database, type RunId, uuidOf, type WorkspaceId } from "#kernel";
import { insertPlainStepsAcrossWorkspaces } from "../../src/workflows/steps/plain-step-store.ts";
import { completedStep } from "../../src/workflows/steps/step-store.ts";
import { test } from "../harness/engine.ts";
import { backendOf, untilWaitingFor } from "../harness/locks.ts";
import type { Service } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const STEP = { ...completedStep("charge", "run", "1"), undoable: true };

/** A run that is executed, and ends while a step of it is being stored that can be undone. The step is stored first. */
async function endedMeanwhile(
  service: Service,
  engine: Database,
  end: (workflow: TestWorkflow, run: Awaited<ReturnType<TestWorkflow["take"]>>) => Promise<unknown>,
): Promise<TestWorkflow> {
  const workflow = await putWorkflow(service, { attempts: 1 });
  await workflow.trigger();
  const run = await workflow.take();
  const id = uuidOf("run", run.runId) as RunId;
  const [claim] = await service.database.query<NamedClaim & { readonly workspaceId: WorkspaceId }>(
    `select workspace_id as "workspaceId", lane_id::int as "laneId", id, lease_id::int as "leaseId", attempt from job where id = $1`,
    [id],
  );
  if (!claim) throw new Error("The run has no job.");
  let ending: Promise<unknown> = Promise.resolve();
  await engine.transaction(async (tx) => {
    const stored = await insertPlainStepsAcrossWorkspaces(tx, [{ workspaceId: claim.workspaceId, id, claim, steps: [STEP] }]);
    expect(stored.get(id)).toBe(1);
    ending = end(workflow, run);
    await untilWaitingFor(engine, await backendOf(tx), 1);
  });
  await ending;
  return workflow;
}

describe("a step that is being stored while its run ends is undone", () => {
  test("by a cancel", async ({ service, engine }) => {
    const workflow = await endedMeanwhile(service, engine, (_, { runId }) => service.ok("POST", `/v1/runs/${runId}/cancel`));
    expect(await workflow.take()).toMatchObject({ undo: true, journal: [{ key: "charge", undoable: true }] });
  });

  test("by its failure", async ({ service, engine }) => {
    const fail = (workflow: TestWorkflow, run: Parameters<TestWorkflow["end"]>[0]) =>
      workflow.end(run, { outcome: "failed", error: "bad" });
    const workflow = await endedMeanwhile(service, engine, fail);
    expect(await workflow.take()).toMatchObject({ undo: true, journal: [{ key: "charge", undoable: true }] });
  });
});
