import { type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow, timesOut } from "@tidemill/sdk/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Execution } from "../../src/workflow/execution.ts";
import { MemoryRun } from "./memory-journal.ts";

const nothing = () => {};

describe("a race of what is no step", () => {
  const stopped = async ({ step }: WorkflowContext) => {
    const pay = async () => {
      await step.run("reserve", nothing);
      await step.run("charge", nothing);
    };
    const { winner } = await step.race({ stop: step.run("stop", nothing), pay: pay() });
    await step.run("tell", nothing);
    return winner;
  };
  const all = ({ step }: WorkflowContext) => step.race({ both: Promise.all([step.run("a", nothing), step.run("b", nothing)]) });

  test.for([
    { name: "an async function", program: stopped, what: "pay" },
    { name: "Promise.all", program: all, what: "both" },
  ])("fails the test, before a step begins: $name", async ({ program, what }) => {
    const message = expect.stringContaining(`step.race cannot cancel "${what}": what an async function or Promise.all has started goes on`);
    const run = await testWorkflow(workflow({ id: "tested" }, program as (context: WorkflowContext) => unknown), {});
    expect(run).toMatchObject({ status: "failed", attempt: 1, error: { name: "RaceError", message }, steps: [] });
  });

  test("is no failure in production, where its steps go on", async () => {
    const run = new MemoryRun(stopped as (context: WorkflowContext<never>) => unknown);
    expect(await run.finish()).toMatchObject({ outcome: "completed", result: "stop" });
    expect(run.keys).toContain("charge");
  });
});

test("a race of steps, of what then makes of them and of races is one of steps", async () => {
  const program = async ({ step }: WorkflowContext) => {
    const first = step.run("first", () => 1);
    const inner = step.race({ second: step.run("second", () => 2), third: step.run("third", () => 3) });
    return (await step.race({ first: first.then((n) => n + 1).finally(nothing), inner, late: step.sleep("late", "1h") })).value;
  };
  expect(await testWorkflow(workflow({ id: "tested" }, program), {})).toMatchObject({ status: "completed", result: 2 });
});

test("a race cancels each of its losers once", async () => {
  const cancel = vi.spyOn(Execution.prototype, "cancel");
  onTestFinished(() => cancel.mockRestore());
  const run = new MemoryRun(({ step }) => {
    const sleeps = Array.from({ length: 50 }, (_, key) => [`sleep ${key}`, step.sleep("sleep", "1h", { key })]);
    return step.race({ work: step.run("work", nothing), ...Object.fromEntries(sleeps) });
  });
  expect(await run.execute()).toMatchObject({ outcome: "completed" });
  expect(cancel).toHaveBeenCalledTimes(50);
});

describe("a race of a wait and a step", () => {
  const chunks =
    (executed: number[], most = 5) =>
    async ({ step, run }: WorkflowContext) => {
      for (let chunk = 0; chunk < most; chunk += 1) {
        const stop = step.waitForSignal("stop", { signal: `stop.${run.id}`, timeout: "1h" });
        const { winner } = await step.race({ stop, work: step.run("work", () => executed.push(chunk)) });
        if (winner === "stop") return `stopped at ${chunk}`;
      }
      return "not stopped";
    };

  test("is won by the wait if its outcome is there already: the step does not begin, and a replay sees the same", async () => {
    const executed: number[] = [];
    const run = new MemoryRun(chunks(executed) as (context: WorkflowContext<never>) => unknown);
    run.ready.add("stop:3");
    expect(await run.execute()).toMatchObject({ outcome: "suspended" });
    run.wake("stop:3");
    for (let times = 0; times < 2; times += 1) expect(await run.execute()).toMatchObject({ outcome: "completed", result: "stopped at 2" });
    expect(executed).toEqual([0, 1]);
  });

  test("is won by the step if nothing has come yet", async () => {
    const executed: number[] = [];
    const run = new MemoryRun(chunks(executed, 2) as (context: WorkflowContext<never>) => unknown);
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "not stopped" });
    expect(run.calls[0]).toEqual(["stop"]);
  });

  test("does not hold up steps beside another one in progress, which may wait for them", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const run = new MemoryRun(async ({ step }: WorkflowContext<never>) => {
      const long = step.run("long", () => promise);
      const others = async () => {
        await step.run("first", () => {});
        const stop = step.waitForSignal("stop", { signal: "s", timeout: "1h" });
        await step.race({ stop, work: step.run("work", () => resolve()) });
      };
      await Promise.all([long, others()]);
    });
    run.ready.add("stop");
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });

  test("is not held up by a wait that nobody awaits", async () => {
    const run = new MemoryRun(async ({ step }: WorkflowContext<never>) => {
      void step.waitForSignal("stop", { signal: "s", timeout: "1h" });
      return step.run("work", () => "done");
    });
    run.ready.add("stop");
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "done" });
  });

  const started = workflow({ id: "crunch" }, async (context: WorkflowContext) => {
    await context.step.signal("stoppable", { signal: `stop.${context.run.id}` });
    return chunks([])(context);
  });

  test.for([undefined, "afterEveryStep", "everywhere"] as const)(
    "is won in a test by a signal that was registered before, if the test completes it: with crash %s",
    async (crash) => {
      const settings = { input: undefined, ...(crash && { crash }) };
      expect((await testWorkflow(started, { ...settings, signals: { "stop.run_test": true } })).result).toBe("stopped at 0");
      expect((await testWorkflow(started, { ...settings, signals: { "stop.run_test": timesOut } })).result).toBe("not stopped");
      expect((await testWorkflow(started, settings)).result).toBe("not stopped");
    },
  );
});
