import { StepCancelledError, StepError, type WorkflowContext, WorkflowFailedError, WorkflowTimeoutError, workflow } from "@tidemill/sdk";
import { testWorkflow, timesOut } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";
import { done, MemoryRun } from "./memory-journal.ts";

const HOUR_MS = 3_600_000;

const billing = workflow({ id: "billing.start", attempts: 1 }, async ({ input, step }: WorkflowContext<{ cents: number }>) => {
  await step.sleep("slow", "2h");
  return step.run("charge", () => {
    if (input.cents < 0) throw new RangeError("Less than nothing.");
    return { paid: input.cents };
  });
});

const purchase = workflow({ id: "purchase" }, async ({ input, step }: WorkflowContext<{ cents: number }>) => {
  try {
    return await step.invoke("bill", { workflow: billing, input, timeout: "3h" });
  } catch (error) {
    if (error instanceof WorkflowFailedError) return `${error.runId}: ${error.message}`;
    if (error instanceof WorkflowTimeoutError) return `${error.runId} goes on`;
    throw error;
  }
});

describe("a test of a workflow that invokes another", () => {
  const runId = "run_test_1";

  test.for([undefined, "afterEveryStep"] as const)("gives its result, with crash: %s", async (crash) => {
    const tested = (invoked: unknown) =>
      testWorkflow(purchase, { input: { cents: 5 }, invokes: { "billing.start": invoked }, ...(crash && { crash }) });
    expect(await tested({ paid: 7 })).toMatchObject({ result: { result: { paid: 7 }, runId }, elapsedMs: 0 });
    expect(await tested(({ cents }: { cents: number }) => cents + 1)).toMatchObject({ result: { result: 6, runId } });
    const message = `${runId}: The run of "billing.start" failed: TypeError: No.`;
    expect(await tested(() => Promise.reject(new TypeError("No.")))).toMatchObject({ result: message });
    expect(await tested(timesOut)).toMatchObject({ result: `${runId} goes on`, elapsedMs: 3 * HOUR_MS });
    expect(await tested(billing)).toMatchObject({ result: { result: { paid: 5 }, runId }, elapsedMs: 2 * HOUR_MS });
  });

  test("runs the invoked workflow with the same settings, and sees it fail or take too long", async () => {
    const invokes = { "billing.start": billing };
    const mocked = await testWorkflow(purchase, { input: { cents: 5 }, invokes, mocks: { charge: { paid: 0 } } });
    expect(mocked.result).toEqual({ result: { paid: 0 }, runId });
    const failed = await testWorkflow(purchase, { input: { cents: -1 }, invokes });
    expect(failed.result).toBe(`${runId}: The run of "billing.start" failed: RangeError: Less than nothing.`);
    const slow = workflow({ id: "slow" }, ({ step }) => step.sleep("slow", "4h"));
    const late = await testWorkflow(purchase, { input: { cents: 5 }, invokes: { "billing.start": slow } });
    expect(late).toMatchObject({ result: `${runId} goes on`, elapsedMs: 3 * HOUR_MS });
  });

  test("says by name what nobody runs", async () => {
    const message =
      'Step "bill" waits for a run of "billing.start", which the test does not run. Give its result, the workflow, or timesOut';
    await expect(testWorkflow(purchase, { input: { cents: 5 } })).rejects.toThrow(message);
    const outer = workflow({ id: "outer" }, ({ step }) => step.invoke("buy", { workflow: purchase, input: { cents: 5 }, timeout: "1d" }));
    await expect(testWorkflow(outer, { invokes: { purchase } })).rejects.toThrow(message);
  });

  test("mocks the step, and lets it fail", async () => {
    const mocks = { bill: { result: { paid: 1 }, runId: "run_mocked" } };
    expect((await testWorkflow(purchase, { input: { cents: 5 }, mocks })).result).toEqual(mocks.bill);
    const failed = await testWorkflow(purchase, { input: { cents: 5 }, fail: { bill: new RangeError("Refused.") } });
    expect(failed).toMatchObject({ status: "failed", attempt: 3, error: { name: "RangeError", message: "Refused." } });
  });

  test("races it against a sleep", async () => {
    const raced = workflow({ id: "raced" }, ({ step }) =>
      step.race({ bill: step.invoke("bill", { workflow: billing, input: { cents: 5 }, timeout: "1d" }), late: step.sleep("late", "1h") }),
    );
    const invokes = { "billing.start": billing };
    expect(await testWorkflow(raced, { invokes, crash: "afterEveryStep" })).toMatchObject({
      result: { winner: "late" },
      elapsedMs: HOUR_MS,
    });
    expect(await testWorkflow(raced, {})).toMatchObject({ result: { winner: "late" } });
    expect(await testWorkflow(raced, { invokes: { "billing.start": 1 } })).toMatchObject({
      result: { winner: "bill", value: { result: 1 } },
    });
  });

  test("sees the message of the innermost run that failed", async () => {
    const inner = workflow({ id: "inner", attempts: 1 }, () => Promise.reject(new RangeError("Declined.")));
    const invokes = {
      inner,
      middle: workflow({ id: "middle" }, ({ step }) => step.invoke("in", { workflow: inner, timeout: "1h" })),
      outer: workflow({ id: "outer" }, ({ step }) => step.invoke("in", { workflow: "middle", timeout: "1h" })),
    };
    expect(await testWorkflow(invokes.outer, { invokes })).toMatchObject({
      error: { name: "WorkflowFailedError", message: 'The run of "inner" failed: RangeError: Declined.' },
    });
  });

  test("ends a workflow that invokes itself", async () => {
    const endless = workflow(
      { id: "endless" },
      ({ step }): Promise<unknown> => step.invoke("again", { workflow: "endless", timeout: "1h" }),
    );
    expect((await testWorkflow(endless, { invokes: { endless } })).error?.message).toContain(
      "At most 16 runs may have invoked one another in a row: endless → endless.",
    );
  });

  test("lets the step fail that would invoke one run too many, so that the workflow goes on", async () => {
    const endless = workflow({ id: "endless" }, async ({ step }): Promise<unknown> => {
      const invoked = await step.invoke("again", { workflow: "endless", timeout: "1h" }).catch((error: Error) => error.message);
      return typeof invoked === "string" ? invoked : invoked.result;
    });
    const { status, result } = await testWorkflow(endless, { invokes: { endless } });
    expect([status, result]).toEqual(["completed", "At most 16 runs may have invoked one another in a row: endless → endless."]);
  });
});

describe("an execution that invokes a workflow", () => {
  test("asks the service for it, and is suspended", async () => {
    const run = new MemoryRun(({ step }) => step.invoke("bill", { workflow: billing, input: { cents: 5 }, timeout: "3h" }, { key: 7 }));
    expect(await run.execute()).toEqual({ outcome: "suspended", steps: [] });
    expect(run.invocations).toEqual([{ workflow: "billing.start", input: { cents: 5 }, timeout: 3 * HOUR_MS }]);
    expect(run.journal).toMatchObject([{ key: "bill[7]", type: "invoke", status: "waiting" }]);
    expect(await run.execute()).toEqual({ outcome: "suspended", steps: [] });
    expect(run.invocations).toHaveLength(1);
  });

  test("stores what came before it first, and goes on with other steps", async () => {
    const order: string[] = [];
    const run = new MemoryRun(async ({ step }) => {
      await step.run("load", () => 1);
      const bill = step.invoke("bill", { workflow: "billing.start", timeout: 1 });
      await step.run("mail", () => void order.push("mail"));
      return bill;
    });
    run.host = {
      ...run.host,
      invoke: async ({ key }) => {
        order.push(`invoke after ${run.keys}`);
        run.append([{ key, type: "invoke", status: "waiting", output: { runId: "run_2" } }]);
        return { runId: "run_2" };
      },
    };
    expect(await run.execute()).toMatchObject({ outcome: "suspended" });
    expect(order.toSorted()).toEqual(["invoke after load", "mail"]);
  });

  test.for(["a step", "a promise"])("cancels it when %s wins a race while it is being invoked", async (winner) => {
    const asked = Promise.withResolvers<void>();
    const run = new MemoryRun(async ({ step }) => {
      const bill = step.invoke("bill", { workflow: "billing.start", timeout: 1_000 });
      const mail = winner === "a step" ? step.run("mail", () => asked.promise) : asked.promise;
      await step.race({ bill, mail });
      await expect(bill).rejects.toThrow(StepCancelledError);
      await step.run("next", () => new Promise((resolve) => setTimeout(resolve, 40)));
      return "ended";
    });
    run.host = {
      ...run.host,
      invoke: async ({ key }) => {
        asked.resolve();
        await new Promise((resolve) => setTimeout(resolve, 20));
        run.append([{ key, type: "invoke", status: "waiting", output: { runId: "run_2" } }]);
        return { runId: "run_2" };
      },
    };
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "ended" });
    expect(run.journal.find(({ key }) => key === "bill")).toMatchObject({ status: "cancelled" });
  });

  test("cancels it when it lost to an outcome that came before its own", async () => {
    const run = new MemoryRun(
      async ({ step }) => {
        const bill = step.invoke("bill", { workflow: "billing.start", timeout: 1_000 });
        const { winner } = await step.race({ bill, late: step.sleep("late", 500) });
        await step.run("next", () => 1);
        return winner;
      },
      { journal: [done("late", null, "sleep"), done("bill", { result: 1, runId: "run_2" }, "invoke")] },
    );
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "late" });
    expect(run.journal.find(({ key }) => key === "bill")).toMatchObject({ status: "cancelled" });
  });

  test("may catch that the service refuses it", async () => {
    const run = new MemoryRun(async ({ step }) => {
      const refused = await step.invoke("bill", { workflow: "missing", timeout: 1 }).catch((error: unknown) => error);
      await step.run("next", () => 1);
      return [refused instanceof StepError, refused instanceof WorkflowFailedError, (refused as Error).message];
    });
    run.host = { ...run.host, invoke: () => Promise.reject(new Error("There is none.")) };
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: [true, false, "There is none."] });
    expect(run.journal[0]).toMatchObject({ key: "bill", type: "invoke", status: "failed" });
  });

  test.for([
    [undefined, "step.invoke needs a timeout of at most 24 hours."],
    ["25h", 'step.invoke needs a timeout of at most 24 hours, not "25h".'],
    [86_400_001, "step.invoke needs a timeout of at most 24 hours, not 86400001."],
    ["1 fortnight", 'step.invoke needs a timeout of at most 24 hours, not "1 fortnight".'],
    [Number.NaN, "step.invoke needs a timeout of at most 24 hours, not NaN."],
    [0, "step.invoke needs a timeout of at most 24 hours, not 0."],
  ] as const)("fails for good with the timeout %s", async ([timeout, message]) => {
    const run = new MemoryRun(({ step }) => step.invoke("bill", { workflow: "billing.start", timeout: timeout as never }));
    expect(await run.execute()).toMatchObject({
      outcome: "failed",
      retry: false,
      error_name: "InvalidStepError",
      error: expect.stringContaining(`Step "bill": ${message}`),
    });
    expect(run.invocations).toEqual([]);
  });

  test("fails for good without a workflow", async () => {
    const run = new MemoryRun(({ step }) => step.invoke("bill", { workflow: undefined as unknown as string, timeout: "1h" }));
    expect(await run.execute()).toMatchObject({
      outcome: "failed",
      retry: false,
      error: 'Step "bill": step.invoke needs a workflow, or its id.',
    });
  });
});
