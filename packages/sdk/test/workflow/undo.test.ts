import { NonRetryableError, RunAbortedError, type StepContext, type WorkflowContext, workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";
import { done, MemoryRun } from "./memory-journal.ts";

/** A booking whose last step fails, and what its undos did. */
function booking({ fails = true, attempts = 1 } = {}) {
  const undone: unknown[] = [];
  const undo = (output: unknown) => void undone.push(output);
  const tested = workflow({ id: "booking", attempts }, async ({ step }) => {
    await step.run("flight", () => ({ flight: 1 }), { undo });
    await step.run("mail", () => "not undoable");
    await Promise.all([
      step.run("hotel", () => ({ hotel: 2 }), { undo }),
      step.run("car", () => ({ car: 3 }), { undo, attempts: 2, backoff: { delay: 10 } }),
    ]);
    await step.sleep("a day", "24h");
    if (fails) throw new TypeError("The card was declined.");
  });
  return { tested, undone };
}

const undosOf = ({ steps }: { readonly steps: readonly { readonly key: string; readonly type: string; readonly status: string }[] }) =>
  steps.filter(({ type, key }) => type === "undo" && key !== "undo()").map(({ key, status }) => `${key} ${status}`);

/** With crashes, a test also executes the run without them. */
const inEachRun = <One>(crash: string | undefined, effects: readonly One[]): One[] => (crash ? [...effects, ...effects] : [...effects]);

describe("undo", () => {
  test.for([undefined, "afterEveryStep"] as const)(
    "of completed steps runs, last first, when the run fails for good (crash: %s)",
    async (crash) => {
      const { tested, undone } = booking();
      const run = await testWorkflow(tested, { ...(crash && { crash }) });
      expect(run).toMatchObject({ status: "failed", error: { name: "TypeError", message: "The card was declined." }, undoErrors: [] });
      expect(undone).toEqual(inEachRun(crash, [{ car: 3 }, { hotel: 2 }, { flight: 1 }]));
      expect(undosOf(run)).toEqual(["undo(car) completed", "undo(hotel) completed", "undo(flight) completed"]);
    },
  );

  test("does not run when the run completes, nor when an attempt fails that is followed by another", async () => {
    const completed = booking({ fails: false });
    expect(await testWorkflow(completed.tested, {})).toMatchObject({ status: "completed" });
    expect(completed.undone).toEqual([]);
    const failing = booking({ attempts: 3 });
    expect(await testWorkflow(failing.tested, {})).toMatchObject({ status: "failed", attempt: 3 });
    expect(failing.undone).toHaveLength(3);
  });

  test("runs for a step that completed, but lost a race, and is stored after it", async () => {
    const undone: unknown[] = [];
    const undo = (output: unknown) => void undone.push(output);
    const run = new MemoryRun(async ({ step }: WorkflowContext<never>) => {
      await step.race({ fast: step.run("fast", () => "fast", { undo }), slow: step.run("slow", () => "slow", { undo }) });
      throw new NonRetryableError("no");
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no", retry: false });
    expect(undone).toEqual(["slow", "fast"]);
    expect(run.journal.map(({ key }) => key)).toEqual(["fast", "slow", "undo()", "undo(slow)", "undo(fast)"]);
  });

  describe("of a step that loses a race while it is executed, and does not stop", () => {
    /** A race that `book` loses against `limit`. It ends when the test says so. */
    function lost(then: (context: WorkflowContext<never>) => unknown) {
      const [undone, signals]: [unknown[], AbortSignal[]] = [[], []];
      const booked = Promise.withResolvers<string>();
      const book = ({ signal }: StepContext) => {
        signals.push(signal);
        return booked.promise;
      };
      const run = new MemoryRun(async (context: WorkflowContext<never>) => {
        const { step } = context;
        await step.race({
          book: step.run("book", book, { undo: (output) => void undone.push(output) }),
          limit: step.run("limit", () => {}),
        });
        return then(context);
      });
      return { run, booked, undone, signals };
    }
    const fail = () => Promise.reject(new NonRetryableError("no room"));

    test.for(["before", "after"])("runs if it completes %s the run fails, which waits for it", async (when) => {
      const { run, booked, undone, signals } = lost(async ({ step }) => {
        setImmediate(() => booked.resolve("b1"));
        if (when === "before") await step.run("other", () => booked.promise);
        return fail();
      });
      expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no room", retry: false });
      expect([signals.map(({ aborted }) => aborted), undone]).toEqual([[true], ["b1"]]);
      expect(run.keys).toEqual(["limit", "book", ...(when === "before" ? ["other"] : []), "undo()", "undo(book)"]);
    });

    test("runs in a later execution, whose replay has the same winner", async () => {
      const { run, booked, undone } = lost(async ({ step }) => {
        await step.sleep("rest", "1h");
        return fail();
      });
      const execution = run.execute();
      await expect.poll(() => run.keys).toEqual(["limit", "rest"]);
      booked.resolve("b1");
      // Before that, it is not suspended.
      expect(await execution).toMatchObject({ outcome: "suspended" });
      expect(run.keys).toEqual(["limit", "rest", "book"]);
      run.wake();
      expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no room" });
      expect(undone).toEqual(["b1"]);
    });

    test("does not run if it fails in the end, and does not keep the run from being suspended then", async () => {
      const { run, booked, undone } = lost(({ step }) => step.sleep("rest", "1h").then(fail));
      const execution = run.execute();
      await expect.poll(() => run.keys).toEqual(["limit", "rest"]);
      booked.reject(new Error("aborted"));
      expect(await execution).toMatchObject({ outcome: "suspended" });
      run.wake();
      expect(await run.execute()).toMatchObject({ outcome: "failed" });
      expect([run.keys, undone]).toEqual([["limit", "rest"], []]);
    });

    test("is stored if the worker stops meanwhile", async () => {
      const { run, booked } = lost(() => new Promise(() => {}));
      const execution = run.execute();
      await expect.poll(() => run.keys).toEqual(["limit"]);
      run.controller.abort(new RunAbortedError("shutdown"));
      booked.resolve("b1");
      expect(await execution).toEqual({ outcome: "released" });
      expect(run.journal).toMatchObject([{ key: "limit" }, { key: "book", status: "completed", undoable: true }]);
    });

    test("is not waited for by a run that completes", async () => {
      const { run } = lost(() => "done");
      expect(await run.execute()).toMatchObject({ outcome: "completed", result: "done" });
    });

    test.for([undefined, "afterEveryStep"] as const)("runs in a test (crash: %s)", async (crash) => {
      const undone: unknown[] = [];
      const tested = workflow({ id: "tested" }, async ({ step }) => {
        const booked = Promise.withResolvers<string>();
        const book = ({ signal }: StepContext) => {
          signal.addEventListener("abort", () => setImmediate(() => booked.resolve("b1")));
          return booked.promise;
        };
        await step.race({
          book: step.run("book", book, { undo: (output) => void undone.push(output) }),
          limit: step.run("limit", () => {}),
        });
        await step.sleep("rest", "1h");
        throw new NonRetryableError("no room");
      });
      expect(await testWorkflow(tested, { ...(crash && { crash }) })).toMatchObject({ status: "failed", undoErrors: [] });
      expect(undone).toEqual(inEachRun(crash, ["b1"]));
    });
  });

  test("runs for a step whose outcome came behind an event that is not sent", async () => {
    const undone: unknown[] = [];
    const [booked, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const run = new MemoryRun(async ({ step }: WorkflowContext<never>) => {
      void step.sendEvent("one", { name: "told" });
      void step.sendEvent("two", { name: "told" });
      void step.run("book", () => booked.resolve(), { undo: () => void undone.push("booked") });
      await booked.promise;
      setImmediate(sent.resolve);
      throw new NonRetryableError("no");
    });
    run.host = { ...run.host, sendEvent: () => sent.promise };
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no", retry: false });
    expect(undone).toEqual(["booked"]);
    expect(run.keys).toEqual(["book", "undo()", "undo(book)"]);
  });

  test("runs at once for a failure that is not tried again, also of a step", async () => {
    const undone: unknown[] = [];
    const tested = workflow({ id: "tested", attempts: 5 }, async ({ step }) => {
      await step.run("a", () => 1, { undo: (output: number) => void undone.push(output) });
      await step.run("b", () => {
        throw new NonRetryableError("no");
      });
    });
    expect(await testWorkflow(tested, {})).toMatchObject({ status: "failed", attempt: 1 });
    expect(undone).toEqual([1]);
  });

  test("that fails is tried again, then recorded, and the others go on", async () => {
    const { tested, undone } = booking({ attempts: 1 });
    const run = await testWorkflow(tested, { fail: { "undo(car)": 1, "undo(hotel)": new RangeError("no such room") } });
    expect(run.undoErrors).toEqual([{ step: "hotel", message: "no such room" }]);
    expect(undone).toEqual([{ car: 3 }, { flight: 1 }]);
    expect(undosOf(run)).toEqual(["undo(car) completed", "undo(hotel) failed", "undo(flight) completed"]);
  });

  test("that changes the output and fails gets the output as it was in its next attempt", async () => {
    const undone: string[] = [];
    const tested = workflow({ id: "tested", attempts: 1 }, async ({ step }) => {
      const undo = ({ rooms }: { rooms: string[] }) => {
        undone.push(rooms.join());
        rooms.pop();
        if (undone.length === 1) throw new Error("no connection");
      };
      await step.run("book", () => ({ rooms: ["a", "b"] }), { undo, attempts: 2 });
      throw new Error("no");
    });
    expect(await testWorkflow(tested, {})).toMatchObject({
      status: "failed",
      undoErrors: [],
      steps: [{ output: { rooms: ["a", "b"] } }, {}, {}],
    });
    expect(undone).toEqual(["a,b", "a,b"]);
  });

  test.for([undefined, "afterEveryStep"] as const)("runs when the run is cancelled, and no other step does (crash: %s)", async (crash) => {
    const { tested, undone } = booking();
    const run = await testWorkflow(tested, { cancelAfter: "mail", ...(crash && { crash }) });
    expect(run).toMatchObject({ status: "cancelled", error: null });
    expect(undone).toEqual(inEachRun(crash, [{ flight: 1 }]));
    expect(run.steps.map(({ key }) => key)).toEqual(["flight", "mail", "undo(flight)"]);
    await expect(testWorkflow(booking({ fails: false }).tested, { cancelAfter: "no" })).rejects.toThrow('Step "no"');
  });

  test("is no generator", async () => {
    const run = new MemoryRun(({ step }: WorkflowContext<never>) => step.run("a", () => 1, { undo: function* () {} }));
    expect(await run.execute()).toMatchObject({
      error_name: "InvalidStepError",
      error: 'Step "a": undo must not be a generator, which a call does not execute. Make it an async function.',
      retry: false,
    });
  });

  test("may return what has no JSON, such as a Response: it is not stored", async () => {
    const failing = workflow({ id: "booking", attempts: 1 }, async ({ step }) => {
      await step.run("flight", () => 1, { undo: async () => new Response() });
      await step.run("hotel", () => 2, { undo: async () => 2n });
      throw new Error("no room");
    });
    const run = await testWorkflow(failing, {});
    expect(run).toMatchObject({ status: "failed", undoErrors: [] });
    expect(undosOf(run)).toEqual(["undo(hotel) completed", "undo(flight) completed"]);
  });

  test("that asks for a step fails and names both, and the others go on", async () => {
    const undone: unknown[] = [];
    const tested = workflow({ id: "tested" }, async ({ step }) => {
      await step.run("book", () => 1, { undo: (output) => void undone.push(output) });
      await step.run("charge", () => "ch_1", { undo: () => step.run("refund", () => void undone.push("refund")) });
      throw new NonRetryableError("no");
    });
    const message = expect.stringContaining('"refund" was called inside step "undo(charge)".');
    expect(await testWorkflow(tested, {})).toMatchObject({ status: "failed", undoErrors: [{ step: "charge", message }] });
    expect(undone).toEqual([1]);
  });

  test("gets a context with a key of its own, and a step's output as a replay sees it", async () => {
    const contexts: StepContext[] = [];
    const tested = workflow({ id: "tested", attempts: 1 }, async ({ step }) => {
      await step.run("a b", () => new Date(0), {
        undo: (output, context) => {
          contexts.push(context);
          expect(output satisfies string).toBe("1970-01-01T00:00:00.000Z");
        },
      });
      throw new Error("no");
    });
    expect(await testWorkflow(tested, {})).toMatchObject({ undoErrors: [] });
    expect(contexts).toMatchObject([{ attempt: 1, idempotencyKey: "run_test:undo(a%20b)", signal: { aborted: false } }]);
  });

  test("of a step that completes while the run fails runs, too", async () => {
    const undone: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    const tested = workflow({ id: "tested", attempts: 1 }, async ({ step }) => {
      const slow = step.run("slow", () => gate.promise.then(() => "slow"), { undo: (output) => void undone.push(output) });
      const fast = step.run("fast", () => "fast", { undo: (output) => void undone.push(output) });
      await fast;
      setTimeout(gate.resolve, 5);
      void slow;
      throw new Error("no");
    });
    expect(await testWorkflow(tested, {})).toMatchObject({ status: "failed" });
    expect(undone).toEqual(["slow", "fast"]);
  });

  test.for([false, true])("of a program that throws on the way to a step is tried again (after it had begun: %s)", async (hasBegun) => {
    const undone: unknown[] = [];
    let throws = true;
    const program = async ({ step }: WorkflowContext<never>) => {
      await step.run("a", () => 1, { undo: () => void undone.push("a") });
      if (throws) throw new Error("no settings");
      await step.run("b", () => 2, { undo: () => void undone.push("b") });
      throw new Error("It fails.");
    };
    const begun = done("undo()", { name: "RangeError", message: "It fails." }, "undo");
    const steps = [done("a"), done("b")].map((one) => ({ ...one, undoable: true }));
    const run = new MemoryRun(program, { journal: hasBegun ? [...steps, begun] : steps });
    run.undo = !hasBegun;
    const [error, last] = hasBegun
      ? [{ error: "It fails.", error_name: "RangeError", retry: false }, {}]
      : [
          { error: "no settings", error_name: "Error" },
          { outcome: "completed", result: null },
        ];
    expect(await run.execute()).toEqual({ outcome: "failed", ...error });
    expect([run.journal.length, undone]).toEqual([hasBegun ? 3 : 2, []]);
    throws = false;
    expect(await run.execute()).toMatchObject(last);
    expect(undone).toEqual(["b", "a"]);
  });

  test.for([
    [1, []],
    [
      10,
      [
        { step: "b", message: "no settings" },
        { step: "a", message: "no settings" },
      ],
    ],
  ] as const)("of a cancelled run whose program throws on the way %s times", async ([times, undoErrors]) => {
    const undone: unknown[] = [];
    let thrown = 0;
    const tested = workflow({ id: "tested" }, async ({ step }) => {
      await step.run("a", () => 1, { undo: () => void undone.push("a") });
      if (undone.length === 0 && calls++ > 0 && thrown < times) {
        thrown += 1;
        throw new Error("no settings");
      }
      await step.run("b", () => 2, { undo: () => void undone.push("b") });
      await step.sleep("pause", 1);
    });
    let calls = 0;
    expect(await testWorkflow(tested, { cancelAfter: "b" })).toMatchObject({ status: "cancelled", undoErrors });
    expect([thrown, undone]).toEqual([times, undoErrors.length > 0 ? [] : ["b", "a"]]);
  });

  test("that the code no longer has is recorded as failed, after a while if the code does not come to it", async () => {
    const undoable = { ...done("a"), undoable: true };
    const run = new MemoryRun(({ step }: WorkflowContext<never>) => step.run("other", () => expect.fail("executed")), {
      journal: [undoable],
    });
    run.undo = true;
    expect(await run.execute()).toEqual({ outcome: "completed", result: null });
    expect(run.journal.at(-1)).toMatchObject({ key: "undo(a)", type: "undo", status: "failed", error: { name: "UndoError" } });
  });

  test("must be a function, and names of steps must not look like its own", async () => {
    const wrong = workflow({ id: "tested" }, ({ step }) => step.run("a", () => 1, { undo: 7 as never }));
    expect(await testWorkflow(wrong, {})).toMatchObject({ error: { message: 'Step "a": undo must be a function, not number.' } });
    const named = workflow({ id: "tested" }, ({ step }) => step.run("undo(a)", () => 1));
    expect(await testWorkflow(named, {})).toMatchObject({ error: { message: expect.stringContaining('must not begin with "undo("') } });
  });
});
