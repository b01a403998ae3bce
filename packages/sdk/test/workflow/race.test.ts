import { type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";
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
