import { UnawaitedStepError, type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";
import { done, journalStep, MemoryRun } from "./memory-journal.ts";

type Program = (context: WorkflowContext) => unknown;

const forever = () => new Promise<never>(() => {});

/** Executes a run. Returns its outcome, and the steps of each error that its host got. */
async function execute(program: Program, journal = [done("before")]) {
  const unawaited: (readonly string[])[] = [];
  const run = new MemoryRun(program, { journal });
  const outcome = await run.execute({ onUnawaited: ({ steps }) => void unawaited.push(steps) });
  return { outcome, unawaited, run };
}

/** What a workflow does after the step "before" and does not await, with the steps that are named. */
const LEFT: [string, Program, string[]][] = [
  ["a step just before its return", ({ step }) => void step.run("send", () => 1), ["send"]],
  [
    "several steps, of a list",
    ({ step }) => {
      for (const key of [1, 2]) void step.run("send", () => 1, { key });
    },
    ["send[1]", "send[2]"],
  ],
  ["an event", ({ step }) => void step.sendEvent("tell", { name: "told", data: 1 }), ["tell"]],
  ["a sleep", ({ step }) => void step.sleep("nap", "1h"), ["nap"]],
  ["a call", ({ step }) => void step.http("call", { url: "https://example.com/" }), ["call"]],
  ["a run that is not started", ({ step }) => void step.invoke("bill", { workflow: "billing", timeout: "1h" }), ["bill"]],
  [
    "a step in progress",
    async ({ step }) => {
      void step.run("slow", forever);
      await step.run("quick", () => 1);
    },
    ["slow"],
  ],
  [
    "a sleep beside a step",
    async ({ step }) => {
      void step.sleep("nap", "1h");
      await step.run("quick", () => 1);
    },
    ["nap"],
  ],
  [
    "a step that has failed",
    async ({ step }) => {
      void step.run("fails", () => Promise.reject(new Error("No.")), { attempts: 1 });
      await step.run("slower", () => new Promise((resolve) => setImmediate(resolve, 1)));
    },
    ["fails"],
  ],
];

/** What a workflow may do. */
const RIGHT: [string, Program][] = [
  [
    "steps that it awaits late",
    async ({ step }) => {
      const a = step.run("a", () => 1);
      const b = step.run("b", () => 2);
      return [await b, await a];
    },
  ],
  ["a step that it returns", ({ step }) => step.run("a", () => 1)],
  ["the loser of step.race", ({ step }) => step.race({ slow: step.run("slow", forever), quick: step.run("quick", () => 1) })],
  ["the loser of Promise.race", ({ step }) => Promise.race([step.run("slow", forever), step.run("quick", () => 1)])],
  ["the sleep that loses", ({ step }) => Promise.race([step.sleep("nap", "1h"), step.run("quick", () => 1)])],
  [
    "a step that ended beside another one",
    async ({ step }) => {
      void step.run("quick", () => 1);
      await step.run("slower", () => new Promise((resolve) => setImmediate(resolve, 1)));
    },
  ],
  ["a step whose outcome it says that it does not need", ({ step }) => void step.run("send", () => 1).catch(() => {})],
  [
    "a run that it has started",
    async ({ step }) => {
      void step.invoke("bill", { workflow: "billing", timeout: "1h" });
      await step.run("slower", () => new Promise((resolve) => setImmediate(resolve, 1)));
    },
  ],
];

const after =
  (program: Program): Program =>
  async (context) => {
    await context.step.run("before", () => 0);
    return program(context);
  };

describe("a workflow that returns and did not await", () => {
  test.for(LEFT)("%s is reported, and its run completes", async ([, program, steps]) => {
    const { outcome, unawaited } = await execute(after(program));
    expect(unawaited).toEqual([steps]);
    expect(outcome).toMatchObject({ outcome: "completed" });
  });

  test.for(LEFT)("%s fails for good in development and in tests", async ([, program, steps]) => {
    const named = steps.map((key) => `"${key}"`).join(", ");
    const message = new RegExp(`^The workflow returned and did not await steps? ${named.replaceAll(/[[\]]/g, "\\$&")}[.] `);
    const run = new MemoryRun(after(program));
    expect(await run.execute({ replayEachStep: true, onUnawaited: "fail" })).toMatchObject({
      ...{ outcome: "failed", retry: false, error_name: "UnawaitedStepError" },
      error: expect.stringMatching(message),
    });
    const tested = await testWorkflow(workflow({ id: "test" }, after(program)), {});
    expect(tested).toMatchObject({ status: "failed", attempt: 1, error: { name: "UnawaitedStepError" } });
    expect(tested.error?.message).toMatch(message);
  });

  test("a step that it returns within an object fails for good, since a result has no promises", async () => {
    const { outcome, unawaited } = await execute(after(({ step }) => ({ sent: step.run("send", () => 1) })));
    expect(unawaited).toEqual([["send"]]);
    const error = "The result of the workflow has no JSON: sent is a Promise, which would become {}. Await it.";
    expect(outcome).toMatchObject({ outcome: "failed", error, retry: false });
  });

  test("many steps is told of the first ones", () => {
    const { message } = new UnawaitedStepError(["a", "b", "c", "d", "e", "f", "g"]);
    expect(message).toContain('did not await steps "a", "b", "c", "d", "e" and 2 more. ');
  });
});

test("a failure that a workflow waits for after its return does not count", async () => {
  const run = new MemoryRun(async ({ step }: WorkflowContext) => {
    const fails = step.run("fails", () => Promise.reject(new Error("No.")));
    await step.run("slower", () => new Promise((resolve) => setImmediate(resolve, 1)));
    void (async () => {
      for (let tick = 0; tick < 10; tick += 1) await null;
      await fails;
    })();
    return "returned";
  });
  expect(await run.execute()).toMatchObject({ outcome: "completed", result: "returned", steps: [{ key: "slower" }] });
  expect(run.keys).toEqual(["slower"]);
});

describe("a workflow is not told that it did not await", () => {
  test.for(RIGHT)("%s", async ([, program]) => {
    const { outcome, unawaited, run } = await execute(after(program));
    expect(outcome).toMatchObject({ outcome: "completed" });
    const again = await execute(after(program), run.journal);
    expect(again.outcome).toMatchObject({ outcome: "completed" });
    expect([...unawaited, ...again.unawaited]).toEqual([]);
  });

  test("the steps after one that fails", async () => {
    const { outcome, unawaited } = await execute(async ({ step }) => {
      await step.run("before", () => 0);
      const steps = [step.run("a", () => Promise.reject(new Error("No."))), step.sleep("nap", "1h")];
      for (const one of steps) await one;
    });
    expect(outcome).toMatchObject({ outcome: "failed", error: "No." });
    expect(unawaited).toEqual([]);
  });

  test("a step that its journal has, when the journal does not fit", async () => {
    const journal = [done("before"), journalStep({ key: "nap", type: "sleep", status: "waiting" }), done("gone")];
    const { outcome, unawaited } = await execute(async ({ step }) => {
      await step.run("before", () => 0);
      void step.sleep("nap", "1h");
    }, journal);
    expect(outcome).toMatchObject({ outcome: "unfit", step: "gone" });
    expect(unawaited).toEqual([]);
  });
});
