import {
  NonRetryableError,
  StepError,
  type Tidemill,
  WorkflowCancelledError,
  type WorkflowContext,
  WorkflowFailedError,
  WorkflowTimeoutError,
  workflow,
} from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { test, untilStatus } from "../harness/workflow-workers.ts";

/** Starts a run, once a worker has registered its workflows. */
async function trigger(client: Tidemill, id: string, input: unknown = null): Promise<string> {
  await until(() => client.workflows.get(id).then(Boolean, () => false), `workflow ${id} to be registered`);
  const [runId = ""] = (await client.workflows.trigger(id, { input })).runIds;
  return runId;
}

async function ended(client: Tidemill, runId: string, status = "completed") {
  await untilStatus(client, runId, status);
  return client.runs.get(runId);
}

/** The run that a step has invoked, once its run waits for it. */
async function invokedBy(client: Tidemill, runId: string): Promise<string> {
  const run = await ended(client, runId, "waiting");
  return run.waitingFor[0]?.runId ?? "";
}

/** Invokes a workflow, and says how that has failed. */
const cautious = (of: string) =>
  workflow({ id: "cautious" }, async ({ step }) => {
    try {
      return await step.invoke("bill", { workflow: of, timeout: "1h" });
    } catch (error) {
      const kinds = { WorkflowFailedError, WorkflowTimeoutError, WorkflowCancelledError };
      const [kind] = Object.entries(kinds).find(([, one]) => error instanceof one) ?? [null];
      // One more execution sees the error in the journal.
      await step.sleep("nap", 0);
      const { name, message, runId } = error as WorkflowFailedError;
      return { kind, name, message, runId };
    }
  });

describe("a run that invokes a workflow", () => {
  // Specification, Workflow behavior 1.
  test("gets its result and its id, by its definition or its id", async ({ client, worker }) => {
    const bill = workflow({ id: "bill" }, ({ input, step }: WorkflowContext<{ cents: number }>) =>
      step.run("charge", () => ({ paid: input.cents })),
    );
    const order = workflow({ id: "order" }, async ({ step }) => {
      const first = await step.invoke("bill", { workflow: bill, input: { cents: 5 }, timeout: "1h" });
      const second = await step.invoke("bill", { workflow: "bill", input: { cents: 7 }, timeout: "1h" });
      return [first, second];
    });
    worker([order, bill]);
    const runId = await trigger(client, "order");
    const { result, steps, attempt } = await ended(client, runId);
    const runs = (await client.runs.list({ workflowId: "bill" })).data;
    const ids = runs.map((run) => run.runId).sort();
    expect(result).toEqual([
      { result: { paid: 5 }, runId: ids[0] },
      { result: { paid: 7 }, runId: ids[1] },
    ]);
    expect(attempt).toBe(1);
    expect(steps).toMatchObject([
      { key: "bill", type: "invoke", status: "completed" },
      { key: "bill:2", type: "invoke", status: "completed" },
    ]);
    for (const run of runs) expect(run).toMatchObject({ parentRunId: runId, trigger: { type: "invoke", runId } });
  });

  test("invokes several at once, and one that invokes another", async ({ client, worker }) => {
    const leaf = workflow({ id: "leaf" }, ({ input }: WorkflowContext<number>) => input * 2);
    const middle = workflow({ id: "middle" }, async ({ input, step }: WorkflowContext<number>) => {
      const { result } = await step.invoke("leaf", { workflow: leaf, input, timeout: "1h" });
      return result + 1;
    });
    const top = workflow({ id: "top" }, ({ step }) =>
      Promise.all([1, 2, 3].map((input) => step.invoke("middle", { workflow: middle, input, timeout: "1h" }, { key: input }))),
    );
    worker([top, middle, leaf]);
    const { result } = await ended(client, await trigger(client, "top"));
    expect((result as { result: number }[]).map((one) => one.result)).toEqual([3, 5, 7]);
  });

  test("catches that it fails", async ({ client, worker }) => {
    const declined = () => {
      throw new NonRetryableError("Declined.");
    };
    const bill = workflow({ id: "bill" }, ({ step }) => step.run("charge", declined));
    worker([cautious("bill"), bill]);
    const run = await ended(client, await trigger(client, "cautious"));
    const [child] = (await client.runs.list({ workflowId: "bill" })).data;
    const message = 'The run of "bill" failed: NonRetryableError: Declined.';
    expect(run.result).toEqual({ kind: "WorkflowFailedError", name: "WorkflowFailedError", message, runId: child?.runId });
  });

  // Specification, Workflow behavior 2.
  test("catches that the timeout passes, and the invoked run goes on", async ({ service, client, worker }) => {
    const bill = workflow({ id: "bill" }, async ({ step }) => {
      await step.sleep("slow", "3h");
      return "billed";
    });
    worker([cautious("bill"), bill]);
    const runId = await trigger(client, "cautious");
    const child = await invokedBy(client, runId);
    await ended(client, child, "sleeping");
    await service.advance(3_601);
    const message = 'The run of "bill" did not end in time. It goes on.';
    expect((await ended(client, runId)).result).toEqual({
      kind: "WorkflowTimeoutError",
      name: "WorkflowTimeoutError",
      message,
      runId: child,
    });
    expect((await client.runs.get(child)).status).toBe("sleeping");
    await service.advance(2 * 3_600);
    expect((await ended(client, child)).result).toBe("billed");
  });

  // Specification, Workflow behavior 3.
  test("catches that it is cancelled", async ({ client, worker }) => {
    const bill = workflow({ id: "bill" }, ({ step }) => step.sleep("slow", "3h"));
    worker([cautious("bill"), bill]);
    const runId = await trigger(client, "cautious");
    const child = await invokedBy(client, runId);
    await client.runs.cancel(child);
    expect((await ended(client, runId)).result).toMatchObject({ kind: "WorkflowCancelledError", runId: child });
  });

  test("fails for good when it does not catch the failure, and invokes it again when it is retried", async ({ client, worker }) => {
    let declines = 1;
    const bill = workflow({ id: "bill", attempts: 1 }, () => {
      if (declines-- > 0) throw new Error("Declined.");
      return "billed";
    });
    const order = workflow({ id: "order" }, ({ step }) => step.invoke("bill", { workflow: bill, timeout: "1h" }));
    worker([order, bill]);
    const runId = await trigger(client, "order");
    expect(await ended(client, runId, "failed")).toMatchObject({ attempt: 1, error: { name: "WorkflowFailedError" } });
    await client.runs.retry(runId);
    expect((await ended(client, runId)).result).toMatchObject({ result: "billed" });
    expect((await client.runs.list({ workflowId: "bill" })).data).toHaveLength(2);
  });

  test("no longer waits for one that has lost a race", async ({ service, client, worker }) => {
    const bill = workflow({ id: "bill" }, ({ step }) => step.sleep("slow", "3h"));
    const order = workflow({ id: "order" }, async ({ step }) => {
      const { winner } = await step.race({
        bill: step.invoke("bill", { workflow: bill, timeout: "2h" }),
        late: step.sleep("late", "1h"),
      });
      await step.sleep("rest", "1d");
      return winner;
    });
    worker([order, bill]);
    const runId = await trigger(client, "order");
    await ended(client, runId, "waiting");
    await service.advance(3_601);
    expect(await ended(client, runId, "sleeping")).toMatchObject({ waitingFor: [{ type: "sleep", step: "rest" }] });
    await service.advance(86_401);
    const run = await ended(client, runId);
    expect(run.result).toBe("late");
    expect(run.steps.find(({ key }) => key === "bill")).toMatchObject({ type: "invoke", status: "cancelled" });
    expect((await ended(client, (await client.runs.list({ workflowId: "bill" })).data[0]?.runId ?? "")).status).toBe("completed");
  });

  test("catches that the workflow does not exist", async ({ client, worker }) => {
    const order = workflow({ id: "order" }, async ({ step }) => {
      try {
        return await step.invoke("bill", { workflow: "missing", timeout: "1h" });
      } catch (error) {
        return [error instanceof StepError, (error as Error).message];
      }
    });
    worker([order]);
    expect((await ended(client, await trigger(client, "order"))).result).toEqual([true, expect.stringContaining('"missing"')]);
  });
});
