import { expect } from "vitest";
import { joinedBy, NEVER_POLL, testWith } from "../harness/nodes.ts";
import { pushedWorkflow } from "../harness/pushes.ts";
import { until } from "../harness/service.ts";

const test = testWith(NEVER_POLL);

const COMPLETED = { outcome: "completed" };

test("a run is pushed without waiting for a poll: after a trigger, an event, a completed signal, an end and a retry", async ({
  service,
}) => {
  const retried = new Set<string>();
  const workflow = await pushedWorkflow(
    service,
    (pushed) => {
      if (pushed.kind === "hook") return COMPLETED;
      if (pushed.journal?.length === 0) {
        const wait = { key: "wait", type: "wait", status: "waiting", signal: pushed.runId, timeout: 60_000 };
        return { outcome: "suspended", steps: [wait] };
      }
      return retried.has(pushed.runId) ? COMPLETED : { outcome: "failed", error: "no", retry: false };
    },
    { events: ["user.created"], hooks: ["onFailure"] },
  );
  const { runIds } = await service.ok("POST", "/v1/events", { name: "user.created" });
  for (const runId of [await workflow.trigger(), ...runIds]) {
    await workflow.untilStatus(runId, "waiting");
    await service.ok("POST", `/v1/signals/${runId}/complete`);
    await workflow.untilStatus(runId, "failed");
    const hooks = () => workflow.executions().filter((one) => one.kind === "hook" && one.runId === runId);
    await until(() => hooks().length === 1, "onFailure to fire");
    retried.add(runId);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    await workflow.untilStatus(runId, "completed");
  }
});

test("a cancel that reaches another node breaks off the execution", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => "hang");
  const runId = await workflow.trigger();
  await until(() => workflow.program.open === 1, "the run to be executed");
  const other = await joinedBy(service, NEVER_POLL);
  try {
    await other.ok("POST", `/v1/runs/${runId}/cancel`);
    await until(() => workflow.program.aborted === 1, "the request to be broken off");
    expect(await workflow.get(runId)).toMatchObject({ status: "cancelled" });
  } finally {
    await other.node.stop();
  }
});

test("steps of an execution may be reported to another node than the one that sent it", async ({ service }) => {
  const other = await joinedBy(service, NEVER_POLL);
  try {
    const workflow = await pushedWorkflow(service, async (pushed) => {
      const steps = [{ key: "charge", type: "run", status: "completed", output: 42 }];
      for (const node of [service, other]) {
        await node.ok("POST", `/v1/runs/${pushed.runId}/steps`, { lease_token: pushed.lease_token, steps });
      }
      return COMPLETED;
    });
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "completed");
    expect((await workflow.get(runId)).steps).toMatchObject([{ key: "charge", output: 42 }]);
  } finally {
    await other.node.stop();
  }
});

test("a run that another node started is pushed once", async ({ service }) => {
  const other = await joinedBy(service, NEVER_POLL);
  try {
    const workflow = await pushedWorkflow(service, () => COMPLETED);
    const [runId] = (await other.ok("POST", `/v1/workflows/${workflow.id}/trigger`, {})).runIds;
    await workflow.untilStatus(runId, "completed");
    expect(workflow.executions()).toHaveLength(1);
  } finally {
    await other.node.stop();
  }
});
