import { expect } from "vitest";
import { isSigned } from "../harness/handler.ts";
import { pushedWorkflow, SECRET } from "../harness/pushes.ts";
import { test, until } from "../harness/service.ts";

const untilStatus = (get: () => Promise<{ status: string }>, status: string) =>
  until(async () => (await get()).status === status, `the run to be ${status}`);

test("an execution is a signed request, and its response ends the run", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => ({ outcome: "completed", result: { sent: 12345678901234567890n.toString() } }), {
    version: "v1",
  });
  const runId = await workflow.trigger({ input: { userId: "u1" } });
  await untilStatus(() => workflow.get(runId), "completed");
  const [received] = workflow.program.received;
  expect(received && isSigned(received, SECRET)).toBe(true);
  expect(received?.headers).toMatchObject({ "x-service-job-id": runId, "x-service-attempt": "1", "content-type": "application/json" });
  expect(workflow.executions()).toEqual([
    {
      kind: "run",
      runId,
      workflowId: workflow.id,
      version: "v1",
      attempt: 1,
      attempts: 3,
      input: { userId: "u1" },
      trigger: { type: "api" },
      createdAt: "2026-11-21T12:00:00.000Z",
      journal: [],
      lease_token: expect.any(String),
      lease_expires_at: "2026-11-21T12:00:30.000Z",
    },
  ]);
  expect(await workflow.get(runId)).toMatchObject({ result: { sent: "12345678901234567890" }, attempt: 1, version: "v1" });
});

test("steps are reported during the execution, and a suspended run goes on with its journal", async ({ service }) => {
  const workflow = await pushedWorkflow(service, async (pushed) => {
    if (pushed.kind !== "run") return 500;
    const { runId, lease_token, journal } = pushed;
    if (journal?.length !== 0) return { outcome: "completed", result: journal };
    const steps = [{ key: "charge", type: "run", status: "completed", output: 42 }];
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
    return { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 }] };
  });
  const runId = await workflow.trigger();
  await untilStatus(() => workflow.get(runId), "sleeping");
  await service.advance(60);
  await untilStatus(() => workflow.get(runId), "completed");
  expect((await workflow.get(runId)).result).toMatchObject([
    { key: "charge", output: 42 },
    { key: "nap", status: "completed" },
  ]);
});

test("a hook is pushed", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => ({ outcome: "completed" }), { hooks: ["onSuccess"] });
  const runId = await workflow.trigger();
  await until(() => workflow.executions().length === 2, "the hook to be pushed");
  expect(workflow.executions()[1]).toMatchObject({ kind: "hook", hook: "onSuccess", runId, workflowId: workflow.id, result: null });
});
