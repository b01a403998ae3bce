import type { ReportedStep } from "@tidemill/contract";
import { NonRetryableError, RunAbortedError, StepCancelledError, TidemillError, type WorkflowContext } from "@tidemill/sdk";
import { describe, expect, test } from "vitest";
import { done, journalStep, MemoryRun } from "./memory-journal.ts";

type Context = WorkflowContext<never>;

const never = () => new Promise<never>(() => {});
/** Something that is no step, and takes turns of the event loop. */
const elsewhere = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("an execution is suspended", () => {
  test("with its sleep, and goes on behind it", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.sleep("a day", "24h");
      return "awake";
    });
    expect(await run.execute()).toMatchObject({
      outcome: "suspended",
      steps: [{ key: "a day", type: "sleep", status: "waiting", sleepFor: 86_400_000 }],
    });
    expect(await run.execute()).toEqual({ outcome: "suspended", steps: [] });
    run.wake();
    expect(await run.execute()).toEqual({ outcome: "completed", result: "awake" });
  });

  test("with a moment to sleep until", async () => {
    const run = new MemoryRun(({ step }: Context) => step.sleepUntil("new year", new Date("2027-01-01T00:00:00+01:00")));
    expect(await run.execute()).toMatchObject({ steps: [{ key: "new year", sleepUntil: "2026-12-31T23:00:00.000Z" }] });
  });

  test("with all steps that wait, when several do", async () => {
    const run = new MemoryRun(({ step }: Context) => Promise.all([step.sleep("a", 1), step.sleep("b", 2)]));
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ key: "a" }, { key: "b" }] });
  });

  test("not while a step is in progress; its sleeps are stored meanwhile", async () => {
    const goOn = Promise.withResolvers<void>();
    const run = new MemoryRun(({ step }: Context) => Promise.all([step.sleep("pause", 1_000), step.run("work", () => goOn.promise)]));
    const execution = run.execute();
    await expect.poll(() => run.calls).toEqual([["pause"]]);
    goOn.resolve();
    expect(await execution).toMatchObject({ outcome: "suspended", steps: [{ key: "work", status: "completed" }] });
    expect(run.calls).toEqual([["pause"]]);
  });

  test("not while the workflow awaits something else and none of its sleeps", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      const timer = step.sleep("timer", "1h");
      await elsewhere();
      return Promise.race([timer, step.run("work", () => "done")]);
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "done" });
  });

  test("not while the workflow awaits something else alone", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("a", () => {});
      await elsewhere();
      return step.run("b", () => "b");
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "b" });
    expect(run.calls).toEqual([["a"]]);
    expect(await run.execute()).toEqual({ outcome: "completed", result: "b" });
  });

  test("not while the workflow may come to a step in the next turn of the event loop, also beside another run", async () => {
    const open = () =>
      new MemoryRun(async ({ step }: Context) => {
        const soon = async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return step.run("soon", () => "done");
        };
        await Promise.all([step.sleep("timer", "1h"), soon()]);
      });
    const runs = [open(), open(), open()];
    const outcomes = await Promise.all(runs.map((run) => run.execute()));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ outcome: "suspended", steps: [{ key: "soon", status: "completed" }] });
    for (const { calls } of runs) expect(calls).toEqual([["timer"]]);
  });

  test.for([
    ["starts", false],
    ["has done something else than steps", true],
  ] as const)("not before a turn of the event loop after its last step, when the workflow %s", async ([, pauses]) => {
    const run = new MemoryRun(async ({ step }: Context) => {
      if (pauses) await elsewhere();
      const soon = async () => {
        await new Promise<void>((resolve) => process.nextTick(resolve));
        await null;
        return step.run("soon", () => "done");
      };
      await Promise.all([step.sleep("timer", "1h"), soon()]);
    });
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ key: "soon", status: "completed" }] });
  });

  test("with the failure of a step that the workflow does not wait for yet, which is not executed again", async () => {
    let executed = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      const beside = step.run("beside", () => {
        executed += 1;
        throw new Error(`no ${executed}`);
      });
      for (let n = 0; n < 3; n += 1) await step.sleep("pause", 1);
      return beside;
    });
    expect(await run.finish()).toMatchObject({ outcome: "failed", error: "no 1", retry: false });
    expect(executed).toBe(1);
  });

  test("with failures that the workflow has caught", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("pay", () => Promise.reject(new Error("no"))).catch(() => {});
      await step.sleep("pause", 1);
    });
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ key: "pay", status: "failed" }, { key: "pause" }] });
    run.wake();
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });
});

describe("a wait that is asked for after a failure", () => {
  /** A run that waits because of a failure, while one step is stored and another one is in progress. */
  function failing(wait: (step: Context["step"]) => Promise<unknown>) {
    const [stores, stored, caught, slow] = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const run = new MemoryRun(async ({ step }: Context) => {
      const others = [step.run("slow", () => slow?.promise), step.run("quick", () => {})];
      const flaky = () => stores?.promise.then(() => Promise.reject(new Error("no connection")));
      const instead = async () => {
        await step.run("flaky", flaky).catch(() => caught?.resolve());
        await wait(step);
        slow?.resolve();
        if (run.attempt === 1) throw new Error("The first attempt fails.");
      };
      await Promise.all([instead(), ...others]);
    });
    run.host = {
      ...run.host,
      store: async (steps) => {
        run.calls.push(steps.map(({ key }) => key));
        stores?.resolve();
        if (run.calls.length === 1) await stored?.promise;
        run.append(steps);
        return [];
      },
    };
    return { run, stored, caught, slow };
  }

  const WAITS: [string, (step: Context["step"]) => Promise<unknown>][] = [
    ["a sleep", (step) => step.sleep("wait", "1h")],
    ["a wait for a signal", (step) => step.waitForSignal("wait", { signal: "s", timeout: "1h" })],
    ["a call", (step) => step.http("wait", { url: "https://example.com/" })],
  ];

  test.for(WAITS)("is not stored without it when the worker stops: %s", async ([, wait]) => {
    const { run, stored, caught, slow } = failing(wait);
    const execution = run.execute();
    await caught?.promise;
    for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
    run.controller.abort(new RunAbortedError("shutdown"));
    stored?.resolve();
    slow?.resolve();
    expect(await execution).toEqual({ outcome: "released" });
    expect(run.keys).not.toContain("wait");
  });

  test.for(WAITS)("is stored after it while steps are in progress: %s", async ([, wait]) => {
    const { run, stored, caught, slow } = failing(wait);
    const execution = run.execute();
    await caught?.promise;
    stored?.resolve();
    await expect.poll(() => run.calls).toEqual([["quick"], ["flaky"], ["wait"]]);
    slow?.resolve();
    expect(await execution).toMatchObject({ outcome: "suspended" });
  });

  test("is not ended without it when the program throws", async () => {
    const { run, stored, caught } = failing((step) => step.sleep("wait", 1));
    const execution = run.execute({ timer: () => Promise.resolve() });
    await caught?.promise;
    for (let n = 0; n < 3; n += 1) await new Promise(setImmediate);
    stored?.resolve();
    expect(await execution).toMatchObject({ outcome: "failed", error: "The first attempt fails." });
    expect(run.keys.includes("wait")).toBe(run.keys.includes("flaky"));
    run.attempt += 1;
    expect(await run.execute({ timer: () => Promise.resolve() })).toMatchObject({ outcome: "completed" });
  });
});

describe("step.race", () => {
  const race = ({ step }: Context) =>
    step.race({ work: step.run("work", () => "done"), timeout: step.sleep("timeout", "1h"), other: step.run("other", never) });

  test("returns the winner, also in a replay", async () => {
    const run = new MemoryRun(race);
    const expected = { outcome: "completed", result: { winner: "work", value: "done" } };
    expect(await run.execute()).toMatchObject(expected);
    expect(await run.execute()).toEqual(expected);
    expect(run.keys).not.toContain("other");
  });

  test("is won by a sleep whose time comes while a step is in progress, also in a replay", async () => {
    const timers: number[] = [];
    const timer = async (ms: number) => void timers.push(ms);
    let aborted = false;
    const run = new MemoryRun(async ({ step }: Context) => {
      const slow = step.run("slow", ({ signal }) => new Promise(() => signal.addEventListener("abort", () => (aborted = true))));
      const { winner } = await step.race({ slow, timeout: step.sleep("timeout", 300) });
      await step.run("tell", () => {});
      return winner;
    });
    expect(await run.execute({ timer })).toMatchObject({ outcome: "completed", result: "timeout", steps: [{ key: "tell" }] });
    expect(timers).toHaveLength(1);
    expect(timers[0]).toBeLessThanOrEqual(300);
    expect(aborted).toBe(true);
    expect(run.journal).toMatchObject([{ key: "timeout", type: "sleep", status: "completed" }, { key: "tell" }]);
    expect(await run.execute()).toEqual({ outcome: "completed", result: "timeout" });
  });

  test("does not let a step that lost and goes on keep the run from being suspended", async () => {
    const unstopped: string[] = [];
    const run = new MemoryRun(async (context: Context) => {
      const { winner } = await race(context);
      await context.step.sleep("rest", "1h");
      return winner;
    });
    expect(await run.execute({ onUnstopped: (key) => unstopped.push(key) })).toMatchObject({ outcome: "suspended" });
    expect(run.journal.filter(({ status }) => status === "waiting")).toMatchObject([{ key: "rest" }]);
    run.wake("rest");
    expect(await run.execute()).toEqual({ outcome: "completed", result: "work" });
    expect(unstopped).toEqual([]);
  });

  test("cancels stored sleeps and waits that lost, once", async () => {
    const wait = (step: Context["step"], name: string) => step.waitForSignal(name, { signal: "s", timeout: "2h" });
    const run = new MemoryRun(async ({ step }: Context) => {
      const first = await step.race({ answer: wait(step, "first"), remind: step.sleep("remind", "1h") });
      await step.run("mail", () => {});
      return [first.winner, await wait(step, "second")];
    });
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ key: "first" }, { key: "remind" }] });
    run.wake("remind");
    expect(await run.execute()).toMatchObject({ outcome: "suspended", steps: [{ key: "mail" }, { key: "second" }] });
    expect(run.calls).toEqual([["first"]]);
    expect(run.journal).toMatchObject([{ key: "first", status: "cancelled" }, { key: "remind" }, { key: "mail" }, { key: "second" }]);
    run.wake("second");
    expect(await run.execute()).toEqual({ outcome: "completed", result: ["remind", null] });
  });

  test("a cancelled wait that changed code waits for is a misfit", async () => {
    const journal = [{ ...done("first", null, "wait"), status: "cancelled" as const }];
    const run = new MemoryRun(({ step }: Context) => step.waitForSignal("first", { signal: "s", timeout: "2h" }), { journal });
    expect(await run.execute()).toMatchObject({
      outcome: "unfit",
      step: "first",
      error: expect.stringContaining('step "first" as cancelled'),
    });
  });

  test("aborts the others, and does not wait for them", async () => {
    let reason: unknown;
    const other = ({ signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason)));
    const run = new MemoryRun(async ({ step }: Context) => {
      const loser = step.run("other", other);
      await step.race({ work: step.run("work", () => {}), loser });
      const error = await loser.catch((error: unknown) => error);
      await step.sleep("pause", 1);
      return (error as Error).name;
    });
    expect(await run.execute()).toMatchObject({ outcome: "suspended" });
    expect(reason).toBeInstanceOf(StepCancelledError);
    run.wake();
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "StepCancelledError" });
  });

  test("a sleep that lost no longer suspends, and its name is free again", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      for (const _ of [1, 2]) await step.race({ work: step.run("work", () => {}), timeout: step.sleep("timeout", "1h") });
      return "done";
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "done" });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "done" });
  });

  test("throws what its first step throws", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      step.race({ a: step.run("a", () => Promise.reject(new RangeError("no"))), b: step.sleep("b", 1) }),
    );
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "RangeError" });
  });
});

describe("values", () => {
  test("time, chance and ids are the same in each execution, and stored before a step can use them", async () => {
    const stored: string[][] = [];
    const run = new MemoryRun(async ({ step, run: { now, random, uuid } }: Context) => {
      const values = [now(), now(), random(), uuid()];
      await step.run("use", () => void stored.push(run.keys));
      await step.sleep("pause", 1);
      return values;
    });
    await run.execute();
    expect(stored).toEqual([["run.now", "run.now:2", "run.random", "run.uuid"]]);
    run.wake();
    const first = await run.execute();
    expect(first).toMatchObject({
      result: [expect.any(Number), expect.any(Number), expect.any(Number), expect.stringMatching(/^[0-9a-f-]{36}$/)],
    });
    expect(await run.execute()).toEqual(first);
  });

  test("run.id and run.attempt", async () => {
    const run = new MemoryRun(({ run: { id, attempt, workflowId } }: Context) => [id, attempt, workflowId]);
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ result: ["run_1", 2, "test"] });
  });
});

describe("changed code", () => {
  const patched = async ({ step, run }: Context) => {
    await step.run("a", () => {});
    const way = run.patched("b is c now") ? await step.run("c", () => "new") : await step.run("b", () => "old");
    await step.sleep("pause", 1);
    return [way, run.patched("b is c now")];
  };

  test("run.patched is true for a run that had not passed the point, and remembered", async () => {
    for (const journal of [[], [done("a")]]) {
      const run = new MemoryRun(patched, { journal });
      expect(await run.finish()).toMatchObject({ result: ["new", true] });
      expect(run.keys).toContain("run.patched(b is c now)");
    }
  });

  test("run.patched is false for a run that had passed it", async () => {
    const waiting = journalStep({ key: "pause", type: "sleep", status: "waiting" });
    const run = new MemoryRun(patched, { journal: [done("a"), done("b", "old"), waiting] });
    expect(await run.finish()).toMatchObject({ result: ["old", false] });
  });

  test("a patch whose old branch is gone may be left out of the code", async () => {
    const run = new MemoryRun(({ step }: Context) => step.run("c", () => {}), {
      journal: [done("run.patched(x)", true, "value"), done("c", 1)],
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: 1 });
  });

  test.for<[string, (context: Context) => unknown]>([
    ["goes on with another step, which is not executed", ({ step }) => step.run("renamed", () => expect.fail("It was executed."))],
    ["sleeps", ({ step }) => step.sleep("sleep", 1)],
    ["returns", () => "done"],
  ])("a remembered step that the code does not come to: it %s", async ([, program]) => {
    expect(await new MemoryRun(program, { journal: [done("charge")] }).execute()).toMatchObject({
      outcome: "unfit",
      step: "charge",
      error: expect.stringContaining('The journal has step "charge", but the code does not reach it.'),
    });
  });

  test.for<[string, number, unknown]>([
    ["in the last attempt", 3, new TypeError("no settings")],
    ["what is not tried again", 1, new NonRetryableError("no settings")],
  ])("a program that throws before a remembered step does not fit, if it throws %s", async ([, attempt, error]) => {
    const undone: unknown[] = [];
    const program = async ({ step }: Context) => {
      await step.run("book", () => {}, { undo: () => undone.push("book") });
      if (run.keys.includes("charge")) throw error;
      await step.run("charge", () => {}, { undo: () => undone.push("charge") });
    };
    const run = new MemoryRun(program, { journal: [done("book"), done("charge")].map((one) => ({ ...one, undoable: true })) });
    run.attempt = attempt;
    expect(await run.execute()).toMatchObject({
      outcome: "unfit",
      step: "charge",
      error: expect.stringContaining('The journal has step "charge", but the code throws before it reaches it:'),
    });
    expect([run.keys, undone]).toEqual([["book", "charge"], []]);
  });

  test("an attempt that throws before a remembered step is followed by another", async () => {
    const run = new MemoryRun(() => Promise.reject(new TypeError("no settings")), { journal: [done("charge")] });
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no settings" });
  });

  test("a remembered step that is of another type now", async () => {
    const run = new MemoryRun(({ step }: Context) => step.sleep("charge", 1).catch(() => "caught"), { journal: [done("charge")] });
    expect(await run.execute()).toMatchObject({
      outcome: "unfit",
      step: "charge",
      error: expect.stringContaining('The journal has step "charge" as a run step, but the code uses it as a sleep step.'),
    });
  });

  test("a program that is busy elsewhere has time to come to a remembered step", async () => {
    const both = async ({ step }: Context) => {
      const slow = elsewhere().then(() => step.run("slow", () => 1));
      return Promise.all([slow, step.run("new", () => 2)]);
    };
    const run = new MemoryRun(both, { journal: [done("slow", 1)] });
    expect(await run.execute({ misfitAfterMs: 10_000 })).toMatchObject({ outcome: "completed", result: [1, 2] });
  });
});

describe("an execution that is aborted", () => {
  test("has the outcomes stored that it has at a shutdown, also if another step does not end", async () => {
    const [storing, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const run = new MemoryRun(({ step }: Context) =>
      Promise.all([
        step.run("first", () => 1),
        step.run("second", () => storing.promise.then(() => setImmediate(() => run.controller.abort(new RunAbortedError("shutdown"))))),
        step.run("never", () => new Promise(() => {})),
      ]),
    );
    const store = async (steps: readonly ReportedStep[]) => {
      storing.resolve();
      await expect.poll(() => run.controller.signal.aborted).toBe(true);
      run.append(steps);
      if (run.keys.includes("second")) stored.resolve();
      return [];
    };
    void run.execute({ store });
    await stored.promise;
    expect(run.keys).toEqual(["first", "second"]);
  });

  test("is released when its steps have ended; at a shutdown their outcomes are stored", async () => {
    const goOn = Promise.withResolvers<void>();
    const started = Promise.withResolvers<AbortSignal>();
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("work", async ({ signal }) => {
        started.resolve(signal);
        await goOn.promise;
      });
      await step.run("next", () => expect.fail("It was executed."));
    });
    const execution = run.execute();
    const signal = await started.promise;
    run.controller.abort(new RunAbortedError("shutdown"));
    expect(signal.reason).toMatchObject({ why: "shutdown" });
    goOn.resolve();
    expect(await execution).toEqual({ outcome: "released" });
    expect(run.keys).toEqual(["work"]);
  });

  test("stores nothing when the run is no longer the worker's", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      step.run("work", () => {
        run.controller.abort(new RunAbortedError("lease_lost"));
      }),
    );
    expect(await run.execute()).toEqual({ outcome: "released" });
    expect(run.keys).toEqual([]);
  });

  test("has no failure, though its steps fail for it", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      step.run("work", ({ signal }) => {
        run.controller.abort(new RunAbortedError("shutdown"));
        signal.throwIfAborted();
      }),
    );
    expect(await run.execute()).toEqual({ outcome: "released" });
    expect(run.keys).toEqual([]);
  });

  test("begins nothing if it was aborted before", async () => {
    const run = new MemoryRun(() => expect.fail("It was executed."));
    run.controller.abort(new RunAbortedError("shutdown"));
    expect(await run.execute()).toEqual({ outcome: "released" });
  });
});

describe("outcomes that cannot be stored", () => {
  const work = async ({ step }: Context) => {
    await step.run("work", () => 1);
    await step.run("next", () => expect.fail("It was executed."));
  };
  const refused = (code: "LEASE_LOST" | "PAYLOAD_TOO_LARGE", status: number) => ({
    store: () => Promise.reject(new TidemillError({ code, message: "Refused.", status })),
  });

  test("the lease is lost: the execution ends", async () => {
    expect(await new MemoryRun(work).execute(refused("LEASE_LOST", 409))).toEqual({ outcome: "released" });
  });

  test("they are refused: the run fails for good, naming the step", async () => {
    expect(await new MemoryRun(work).execute(refused("PAYLOAD_TOO_LARGE", 413))).toMatchObject({
      outcome: "failed",
      retry: false,
      error: 'The outcome of step "work" could not be stored: Refused.',
    });
  });
});

describe("floating promises", () => {
  test("are never unhandled rejections, whatever becomes of their steps", async ({ onTestFinished }) => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", listener);
    onTestFinished(() => void process.off("unhandledRejection", listener));
    const fails = () => Promise.reject(new Error("floating"));
    const run = new MemoryRun(async ({ step }: Context) => {
      void step.run("a", fails);
      void step
        .run("b", fails, { attempts: 1 })
        .then(() => {})
        .finally(() => {});
      void step.run("c", fails).catch((error) => Promise.reject(error));
      void step.sleep("d", "never" as never);
      void step.race({ e: step.run("e", fails) }).then(() => {});
      void step.run("f", () => {});
      void Promise.all([step.run("after", never)]);
      await step.run("last", elsewhere);
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
    await elsewhere();
    expect(unhandled).toEqual([]);
  });

  test("go on to nothing when the execution has ended", async () => {
    const later = Promise.withResolvers<void>();
    const executed: string[] = [];
    const run = new MemoryRun(({ step, run }: Context) => {
      void later.promise.then(() => step.run("later", () => void executed.push(`later ${run.uuid()}`)));
      return "done";
    });
    await run.execute();
    later.resolve();
    await elsewhere();
    expect(executed).toEqual([]);
  });
});
