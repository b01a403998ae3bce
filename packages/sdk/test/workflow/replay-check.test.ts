import type { WorkflowContext } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";
import { MemoryRun } from "./memory-journal.ts";

type Program = (context: WorkflowContext) => unknown;

/** Executes a program in development mode. */
const execute = (program: Program) => new MemoryRun(program).execute({ replayEachStep: true });

/** Returns the next of these at each call. */
const inTurn = <T>(...values: T[]) => {
  let at = 0;
  return () => values[at++ % values.length] as T;
};

describe("replayEachStep", () => {
  test("lets a deterministic workflow be, and executes each step once", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(async ({ step, run }: WorkflowContext) => {
      const id = run.uuid();
      const [a, b] = await Promise.all([step.run("a", () => executed.push("a")), step.run("b", () => executed.push("b"))]);
      await step.sendEvent("tell", { name: "told", data: run.random() });
      await step.race({ c: step.run("c", () => executed.push("c")), nap: step.sleep("nap", "1h") });
      const caught = await step.run("fails", () => Promise.reject(new Error("No."))).catch((error: Error) => error.message);
      if (run.patched("new")) await step.run("d", () => executed.push("d"));
      return { id, a, b, caught };
    });
    expect(await run.execute({ replayEachStep: true })).toMatchObject({ outcome: "completed", result: { caught: "No." } });
    expect(executed).toEqual(["a", "b", "c", "d"]);
  });

  test.for<[string, () => Program, string]>([
    [
      "asks for another step",
      () => {
        const name = inTurn("b", "c");
        return async ({ step }) => {
          await step.run("a", () => 1);
          return step.run(name(), () => 2);
        };
      },
      'After step "a", the workflow asked for step "b", and a replay asked for step "c".',
    ],
    [
      "asks for a step of another type",
      () => {
        const sleeps = inTurn(false, true);
        return async ({ step }) => {
          await step.run("a", () => 1);
          await (sleeps() ? step.sleep("b", 1) : step.run("b", () => 2));
        };
      },
      'After step "a", the workflow asked for step "b", and a replay asked for step "b" (sleep).',
    ],
    [
      "waits for another signal",
      () => {
        const signal = inTurn("x", "y");
        return async ({ step }) => {
          await step.run("a", () => 1);
          await step.waitForSignal("b", { signal: signal(), timeout: "1h" });
        };
      },
      'After step "a", the workflow asked for step "b" (wait "x"), and a replay asked for step "b" (wait "y").',
    ],
    [
      "leaves out a step that it has executed",
      () => {
        const asks = inTurn(true, false);
        return async ({ step }) => {
          if (asks()) await step.run("a", () => 1);
          await step.run("b", () => 2);
        };
      },
      'A replay does not reach step "a".',
    ],
    [
      "returns before a step",
      () => {
        const returns = inTurn(false, true);
        return async ({ step }) => {
          await step.run("a", () => 1);
          if (returns()) return "early";
          return step.run("b", () => 2);
        };
      },
      'After step "a", the workflow asked for step "b", and a replay returned "early".',
    ],
    [
      "returns something else",
      () => {
        const result = inTurn(1, 2);
        return async ({ step }) => {
          await step.run("a", () => 1);
          return result();
        };
      },
      "The workflow returned 1, and a replay returned 2.",
    ],
  ])("fails a run for good whose workflow %s", async ([, program, difference]) => {
    const end = await execute(program());
    expect(end).toMatchObject({ outcome: "failed", error_name: "NondeterminismError", retry: false });
    expect((end as { error: string }).error).toContain(`The workflow is not deterministic. ${difference}`);
  });

  test("does not begin the step that differs", async () => {
    const name = inTurn("b", "c");
    await execute(async ({ step }) => {
      await step.run("a", () => 1);
      await step.run(name(), () => expect.fail("It was executed."));
    });
  });

  test("goes on from a journal of an earlier execution", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(async ({ step }: WorkflowContext) => {
      await step.run("a", () => executed.push("a"));
      await step.sleep("nap", 1);
      return step.run("b", () => executed.push("b"));
    });
    expect(await run.execute({ replayEachStep: true })).toMatchObject({ outcome: "suspended" });
    run.wake();
    expect(await run.execute({ replayEachStep: true })).toMatchObject({ outcome: "completed", result: 2 });
    expect(executed).toEqual(["a", "b"]);
  });

  test("waits for a workflow that is busy elsewhere between steps", async () => {
    const end = await execute(async ({ step }) => {
      await step.run("a", () => 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return step.run("b", () => 2);
    });
    expect(end).toMatchObject({ outcome: "completed", result: 2 });
  });

  test("does not take a workflow that is busy elsewhere for long for one that is not deterministic", async () => {
    let calls = 0;
    const end = await execute(async ({ step }) => {
      calls += 1;
      if (calls > 1) await new Promise(() => {});
      await step.run("a", () => 1);
      return step.run("b", () => 2);
    });
    expect(end).toMatchObject({ outcome: "completed", result: 2 });
    expect(calls).toBeGreaterThan(1);
  });
});
