import { NonRetryableError, type WorkflowContext } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";
import { done, MemoryRun } from "./memory-journal.ts";

type Context = WorkflowContext<never>;

const RELEASED = { outcome: "released" };
/** Half of the time of the execution has passed from the start. */
const shouldYield = () => true;

describe("an execution whose time is limited", () => {
  test("begins no step when it has stored one, and the next execution continues", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(async ({ step }: Context) => {
      for (const name of ["a", "b", "c"]) await step.run(name, () => void executed.push(name));
      return executed.length;
    });
    expect(await run.execute({ shouldYield })).toEqual(RELEASED);
    expect(run.keys).toEqual(["a"]);
    expect(await run.execute({ shouldYield })).toEqual(RELEASED);
    expect(run.keys).toEqual(["a", "b"]);
    expect(await run.execute({ shouldYield })).toMatchObject({ outcome: "completed", result: 3 });
    expect(executed).toEqual(["a", "b", "c"]);
  });

  test("waits for steps in progress, whose outcomes are stored", async () => {
    const slow = Promise.withResolvers<string>();
    let begun = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      const chain = async () => {
        await step.run("first", () => 1);
        return step.run("second", () => ++begun);
      };
      return Promise.all([step.run("slow", () => slow.promise), chain()]);
    });
    const execution = run.execute({ shouldYield });
    await expect.poll(() => run.keys).toEqual(["first"]);
    slow.resolve("done");
    expect(await execution).toEqual(RELEASED);
    expect([run.keys, begun]).toEqual([["first", "slow"], 0]);
    expect(await run.execute({ shouldYield })).toMatchObject({ outcome: "completed", result: ["done", 1] });
  });

  test("stores values and failures that the program has seen before it ends", async () => {
    let fails = 0;
    const run = new MemoryRun(async ({ step, run: { random } }: Context) => {
      const drawn = random();
      const failed = await step
        .run("fails", () => {
          fails += 1;
          throw new NonRetryableError("no");
        })
        .catch(({ message }: Error) => message);
      return [drawn, failed, await step.run("last", () => drawn)];
    });
    for (const stored of [["run.random"], ["run.random", "fails"]]) {
      expect(await run.execute({ shouldYield })).toEqual(RELEASED);
      expect(run.keys).toEqual(stored);
    }
    const drawn = run.journal[0]?.output;
    expect(await run.execute({ shouldYield })).toMatchObject({ outcome: "completed", result: [drawn, "no", drawn] });
    expect(fails).toBe(1);
  });

  test("goes on at once although another step waits", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      const chain = async () => [await step.run("a", () => 1), await step.run("b", () => 2)];
      return Promise.all([step.waitForSignal("ask", { signal: "s", timeout: "1h" }), chain()]);
    });
    for (const stored of [["ask"], ["a", "ask"]]) {
      expect(await run.execute({ shouldYield })).toEqual(RELEASED);
      expect(run.keys.toSorted()).toEqual(stored);
    }
    expect(await run.execute({ shouldYield })).toMatchObject({ outcome: "suspended", steps: [{ key: "b", output: 2 }] });
  });

  test("does not store a failure that the program has not awaited: the step is executed again", async () => {
    let tries = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      const first = step.run("first", () => {
        tries += 1;
        if (tries === 1) throw new Error("It failed by chance.");
        return "first";
      });
      await step.run("b", () => 1);
      await step.run("c", () => 2);
      return first;
    });
    expect(await run.execute({ shouldYield })).toEqual(RELEASED);
    expect(run.keys).toEqual(["b"]);
    await run.execute({ shouldYield });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "first" });
  });

  test("begins no undo when it has stored why the run fails", async () => {
    const undone: string[] = [];
    let isLate = false;
    const run = new MemoryRun(
      async ({ step }: Context) => {
        await step.run("a", () => "a", { undo: () => void undone.push("a") });
        isLate = true;
        throw new NonRetryableError("no");
      },
      { journal: [{ ...done("a"), undoable: true }] },
    );
    expect(await run.execute({ shouldYield: () => isLate })).toEqual(RELEASED);
    expect(undone).toEqual([]);
    expect(await run.execute({ shouldYield: () => isLate })).toMatchObject({ outcome: "failed", error: "no", retry: false });
    expect(undone).toEqual(["a"]);
  });

  test("undoes one step, and leaves the others to the next one", async () => {
    const undone: string[] = [];
    const run = new MemoryRun(
      async ({ step }: Context) => {
        for (const name of ["a", "b", "c"]) await step.run(name, () => name, { undo: () => void undone.push(name) });
        throw new NonRetryableError("no");
      },
      { journal: ["a", "b", "c"].map((name) => ({ ...done(name), undoable: true })) },
    );
    expect(await run.execute({ shouldYield })).toEqual(RELEASED);
    for (const last of ["c", "b"]) {
      expect(await run.execute({ shouldYield })).toEqual(RELEASED);
      expect(undone.at(-1)).toBe(last);
    }
    expect(await run.execute({ shouldYield })).toMatchObject({ outcome: "failed", error: "no", retry: false });
    expect(undone).toEqual(["c", "b", "a"]);
  });
});
