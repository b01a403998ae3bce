import { describe, expect } from "vitest";
import { type Database, type RunId, uuidOf, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { insertPlainStepsAcrossWorkspaces } from "../../src/workflows/plain-step-store.ts";
import type { StepToInsert } from "../../src/workflows/step-store.ts";
import { test } from "../harness/engine.ts";
import { backendOf, untilWaitingFor } from "../harness/locks.ts";
import type { Service } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const STEP: StepToInsert = {
  key: "charge",
  type: "run",
  status: "completed",
  output: "1",
  error: null,
  attempt: 1,
  startedAt: null,
  wakeAt: null,
  wakeInMs: null,
  signal: null,
  undoable: true,
};

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
  const [job] = await service.database.query<{ workspace_id: WorkspaceId; lane_id: LaneId; lease_id: number; attempt: number }>(
    "select workspace_id, lane_id::int, lease_id::int, attempt from job where id = $1",
    [id],
  );
  if (!job) throw new Error("The run has no job.");
  const claim = { workspaceId: job.workspace_id, laneId: job.lane_id, id, leaseId: job.lease_id, attempt: job.attempt } as never;
  let ending: Promise<unknown> = Promise.resolve();
  await engine.transaction(async (tx) => {
    const stored = await insertPlainStepsAcrossWorkspaces(tx, [{ workspaceId: job.workspace_id, id, claim, steps: [STEP] }]);
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
