import { expect } from "vitest";
import { type RunId, uuidOf, type WorkspaceId } from "#kernel";
import { weighStepsAfter } from "../../src/workflows/watch/store.ts";
import { testWith } from "../harness/nodes.ts";
import { putWorkflow } from "../harness/workflows.ts";

const test = testWith({});

test("how large the steps of a run are is found after each place of its journal, also of those whose wait has ended", async ({
  service,
  engine,
}) => {
  const workflow = await putWorkflow(service);
  const runId = await workflow.trigger();
  const run = await workflow.take();
  const steps = ["a", "bb", "ccc"].map((key) => ({ key, type: "run", status: "completed", output: "x".repeat(100 * key.length) }));
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
  await workflow.end(run, { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 }] });
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  const [found] = await service.database.query<{ workspace_id: WorkspaceId; last_seq: number }>(
    "select workspace_id, last_seq from run where id = $1",
    [uuidOf("run", runId)],
  );
  const { workspace_id: workspaceId, last_seq: last } = found as { workspace_id: WorkspaceId; last_seq: number };
  const key = { workspaceId, id: uuidOf("run", runId) as RunId };
  const weigh = async (...places: number[]) => [...(await weighStepsAfter(engine, key, places))];
  expect(await weigh(2, 0, 2, 1, last)).toEqual([
    [0, 606],
    [1, 504],
    [2, 302],
    [last, 0],
  ]);
  expect(await weigh(1)).toEqual([[1, 504]]);
  expect(await weigh()).toEqual([]);
});
