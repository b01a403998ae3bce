import { SignalTimeoutError, signal, workflow } from "@tidemill/sdk";
import { testWorkflow, timesOut } from "@tidemill/sdk/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { MemoryRun } from "./memory-journal.ts";

const approval = signal<{ ok: boolean }>();

describe("a workflow that waits for a signal", () => {
  const purchase = workflow({ id: "purchase" }, async ({ step }) => {
    await step.signal("ask", { signal: "approve.u1" });
    const { ok } = await step.waitForSignal("approval", { signal: "approve.u1", timeout: "48h", of: approval });
    return ok;
  });

  test("gets the payload of its completion, also when each step is followed by a crash", async () => {
    const signals = { "approve.u1": { ok: true } };
    expect(await testWorkflow(purchase, { signals, crash: "afterEveryStep" })).toMatchObject({ status: "completed", result: true });
  });

  test("catches that the time has passed", async () => {
    const patient = workflow({ id: "patient" }, async ({ step }) => {
      try {
        return await step.waitForSignal<string>("approval", { signal: "approve.u1", timeout: "48h" });
      } catch (error) {
        expect(error).toBeInstanceOf(SignalTimeoutError);
        return (error as Error).message;
      }
    });
    const run = await testWorkflow(patient, { signals: { "approve.u1": timesOut } });
    expect(run).toMatchObject({ result: 'The signal "approve.u1" was not completed in time.', elapsedMs: 48 * 3_600_000 });
  });

  test("fails its test by the name of the signal when nobody completes it", async () => {
    await expect(testWorkflow(purchase, {})).rejects.toThrow('Step "approval" waits for the signal "approve.u1", which nobody completes.');
  });

  test("is suspended with what it waits for", async () => {
    const run = new MemoryRun(({ step }) => step.waitForSignal("approval", { signal: "s", timeout: 5_000 }));
    expect(await run.execute()).toMatchObject({
      outcome: "suspended",
      steps: [{ key: "approval", type: "wait", status: "waiting", signal: "s", timeout: 5_000 }],
    });
  });

  test("races it against a sleep", async () => {
    const raced = workflow({ id: "raced" }, ({ step }) =>
      step.race({ answer: step.waitForSignal("answer", { signal: "s", timeout: "2h" }), late: step.sleep("late", "1h") }),
    );
    expect(await testWorkflow(raced, { signals: { s: timesOut } })).toMatchObject({ result: { winner: "late" } });
    expect(await testWorkflow(raced, { signals: { s: () => 5 } })).toMatchObject({ result: { winner: "answer", value: 5 } });
  });
});

test("the id of a signal is checked before it is asked for", async () => {
  const run = new MemoryRun(({ step }) => step.signal("ask", { signal: "" }));
  expect(await run.execute()).toMatchObject({ outcome: "failed", error: expect.stringContaining("1 to 256 characters") });
});

test("a wait has the type of its signal's payload", () => {
  workflow({ id: "typed" }, async ({ step }) => {
    expectTypeOf(await step.waitForSignal("a", { signal: "s", timeout: 1, of: approval })).toEqualTypeOf<{ ok: boolean }>();
    expectTypeOf(await step.waitForSignal("b", { signal: "s", timeout: 1 })).toEqualTypeOf<unknown>();
    // @ts-expect-error a wait needs a timeout
    await step.waitForSignal("c", { signal: "s" });
  });
});
