import { NonRetryableError, type WorkflowContext, workflow } from "@tidemill/sdk";
import { neverEnds, testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test, vi } from "vitest";

/** A workflow without input. */
const of = <Result>(program: (context: WorkflowContext) => Result) => workflow({ id: "tested", attempts: 1 }, program);

const CRASHES = [undefined, "afterEveryStep", "everywhere"] as const;
const crashed = (crash: (typeof CRASHES)[number]) => (crash ? { crash } : {});

describe("a step that never ends", () => {
  const late = of(async ({ step }) => {
    const { winner } = await step.race({ work: step.run("work", () => expect.fail("executed")), late: step.sleep("late", "10s") });
    return winner;
  });

  test.for(CRASHES)("loses a race against a sleep, with crashes: %s", async (crash) => {
    const run = await testWorkflow(late, { mocks: { work: neverEnds }, ...crashed(crash) });
    expect(run).toMatchObject({ status: "completed", result: "late", elapsedMs: 10_000, steps: [{ key: "late", status: "completed" }] });
  });

  test("wins no race against a sleep that is longer than another one", async () => {
    const both = of(async ({ step }) => {
      const sleeps = { long: step.sleep("long", "2h"), short: step.sleep("short", "1h") };
      return (await step.race({ work: step.run("work", () => 1), ...sleeps })).winner;
    });
    expect(await testWorkflow(both, { mocks: { work: neverEnds } })).toMatchObject({ result: "short", elapsedMs: 3_600_000 });
  });

  test("times out by the virtual clock, in each attempt", async () => {
    const timed = of(({ step }) => step.run("work", () => 1, { timeout: "2h", attempts: 3, backoff: { delay: 0 } }));
    const error = { name: "StepTimeoutError" };
    expect(await testWorkflow(timed, { mocks: { work: neverEnds } })).toMatchObject({ status: "failed", error, elapsedMs: 3 * 7_200_000 });
    const work = ({ attempt }: { attempt: number }) => (attempt === 1 ? neverEnds : attempt);
    expect(await testWorkflow(timed, { mocks: { work } })).toMatchObject({ status: "completed", result: 2, elapsedMs: 7_200_000 });
  });

  test("lets the first of a sleep and of timeouts come", async () => {
    const timed = (timeout: `${number}h`) =>
      of(async ({ step }) => {
        const work = step.run("work", () => 1, { timeout }).catch((error: Error) => error.name);
        return (await step.race({ work, late: step.sleep("late", "2h") })).winner;
      });
    const mocks = { work: neverEnds };
    expect(await testWorkflow(timed("1h"), { mocks })).toMatchObject({ result: "work", elapsedMs: 3_600_000 });
    expect(await testWorkflow(timed("3h"), { mocks })).toMatchObject({ result: "late", elapsedMs: 7_200_000 });
  });

  test("gets its signal when the run fails beside it, and another attempt follows", async () => {
    const tested = workflow({ id: "tested" }, ({ step, run }) =>
      Promise.all([step.run("listen", () => {}), step.run("fails", () => run.attempt === 2 || Promise.reject(new Error("no connection")))]),
    );
    const mocks = { listen: () => (attempts++ === 0 ? neverEnds : "heard") };
    let attempts = 0;
    expect(await testWorkflow(tested, { mocks })).toMatchObject({ status: "completed", attempt: 2, result: ["heard", true] });
  });

  test("of step.http, lets a sleep end", async () => {
    const paged = of(async ({ step }) => {
      const page = step.http("page", { url: "https://example.com/" });
      return (await step.race({ page, late: step.sleep("late", "1h") })).winner;
    });
    expect(await testWorkflow(paged, { mocks: { page: neverEnds } })).toMatchObject({ result: "late", elapsedMs: 3_600_000 });
    expect(await testWorkflow(paged, { mocks: { page: { body: 1 } } })).toMatchObject({ result: "page", elapsedMs: 0 });
  });

  test("fails the test when nothing could end beside it", async () => {
    const message = 'Step "work" does not end, as its mock says, and the run waits for no sleep or timeout';
    const alone = of(({ step }) => step.run("work", () => 1));
    await expect(testWorkflow(alone, { mocks: { work: neverEnds } })).rejects.toThrow(message);
  });

  test("is no event", async () => {
    const tells = of(({ step }) => step.sendEvent("tell", { name: "told" }));
    const message = 'neverEnds is for step.run and step.http, and not for step "tell".';
    expect(await testWorkflow(tells, { mocks: { tell: neverEnds } })).toMatchObject({ status: "failed", error: { message } });
  });
});

describe("a step that lost a race when the run fails", () => {
  const undone: string[] = [];
  const failing = of(async ({ step }) => {
    await step.run("reserve", () => 1, { undo: () => void undone.push("reserve") });
    const check = step.run("check", () => Promise.reject(new NonRetryableError("full")));
    await step.race({ upload: step.run("upload", () => new Promise<never>(() => {})), check });
  });

  test.for(CRASHES)("ends when its signal is aborted, if its mock never ends: %s", async (crash) => {
    undone.length = 0;
    const run = await testWorkflow(failing, { mocks: { upload: neverEnds }, ...crashed(crash) });
    expect(run).toMatchObject({ status: "failed", error: { message: "full" }, undoErrors: [], elapsedMs: 0 });
    expect(new Set(undone)).toEqual(new Set(["reserve"]));
  });

  test("fails the test if it does not end, in place of holding it up", async ({ onTestFinished }) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    undone.length = 0;
    const tested = expect(testWorkflow(failing, {})).rejects.toThrow('Step "upload" is still running although its signal was aborted.');
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    await vi.runAllTimersAsync();
    await tested;
    expect(undone).toEqual([]);
  });
});

describe("time", () => {
  test("of a sleep comes before that of another attempt that is later, also beside a function that is executed", async () => {
    let calls = 0;
    const raced = of(async ({ step }) => {
      const beside = step.run("beside", () => new Promise((resolve) => setTimeout(resolve, 60)));
      const work = step.run("work", () => (++calls === 1 ? Promise.reject(new Error("No.")) : calls), {
        attempts: 2,
        backoff: { delay: "1h" },
      });
      const { winner } = await step.race({ work, late: step.sleep("late", "10s") });
      await beside;
      return winner;
    });
    expect(await testWorkflow(raced, {})).toMatchObject({ result: "late", elapsedMs: 10_000 });
  });

  test("is whole milliseconds, also after a backoff", async () => {
    const times = of(async ({ step, run }) => {
      let failures = 0;
      await step.run("work", () => (++failures === 1 ? Promise.reject(new Error("No.")) : null), { attempts: 2, backoff: { delay: 7 } });
      return run.now();
    });
    const { result, elapsedMs } = await testWorkflow(times, {});
    expect([Number.isInteger(result), Number.isInteger(elapsedMs)]).toEqual([true, true]);
  });

  test("of a backoff is the same in each test", async () => {
    const retried = of(({ step }) => step.run("work", () => 1, { attempts: 3, backoff: { delay: "1m" } }));
    const elapsed = await Promise.all([1, 2, 3].map(async () => (await testWorkflow(retried, { fail: { work: 2 } })).elapsedMs));
    expect(new Set(elapsed).size).toBe(1);
  });

  test("does not pass while the function of a step is executed: a sleep does not win", async () => {
    const real = of(async ({ step }) => {
      const work = step.run("work", () => new Promise((resolve) => setTimeout(resolve, 20)));
      return (await step.race({ work, late: step.sleep("late", 1) })).winner;
    });
    expect(await testWorkflow(real, {})).toMatchObject({ result: "work", elapsedMs: 0 });
  });

  test("is that of a function which exceeds its timeout", async () => {
    const real = of(({ step }) => step.run("work", () => new Promise(() => {}), { timeout: 20 }));
    expect(await testWorkflow(real, {})).toMatchObject({ status: "failed", error: { name: "StepTimeoutError" }, elapsedMs: 20 });
  });

  test.for(CRASHES)("passes once for backoffs at the same time, with crashes: %s", async (crash) => {
    const parallel = of(({ step }) =>
      Promise.all([1, 2, 3].map((key) => step.run("x", () => key, { key, attempts: 3, backoff: { delay: "1m" } }))),
    );
    const run = await testWorkflow(parallel, { fail: { x: 1 }, ...crashed(crash) });
    expect(run).toMatchObject({ status: "completed", result: [1, 2, 3] });
    // The backoff is up to a fifth longer.
    if (!crash) expect(run.elapsedMs).toBeLessThan(72_001);
  });

  test("passes for a sleep that is shorter than a backoff beside it", async () => {
    const waits = of(async ({ step }) => {
      const work = step.run("work", () => 1, { attempts: 2, backoff: { delay: "1h" } });
      return (await step.race({ work, late: step.sleep("late", "1m") })).winner;
    });
    expect(await testWorkflow(waits, { fail: { work: 1 } })).toMatchObject({ result: "late", elapsedMs: 60_000 });
  });
});
