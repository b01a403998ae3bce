import { NonRetryableError, signal, type WorkflowContext, workflow } from "@tidemill/sdk";
import { replayJournal, testWorkflow } from "@tidemill/sdk/testing";
import { describe, expect, test } from "vitest";

/** A workflow without input. */
const of = <Result>(program: (context: WorkflowContext) => Result) => workflow({ id: "tested" }, program);

describe("testWorkflow", () => {
  test("runs a workflow, and its sleeps pass at once", async () => {
    const slow = workflow({ id: "slow" }, async ({ input, step, run }: WorkflowContext<{ name: string }>) => {
      const before = run.now();
      await step.sleep("a day", "24h");
      await step.sleepUntil("new year", "2027-01-01T00:00:00Z");
      return { hello: await step.run("greet", () => input.name), days: (run.now() - before) / 86_400_000 };
    });
    const run = await testWorkflow(slow, { input: { name: "Ada" } });
    expect(run).toMatchObject({ status: "completed", result: { hello: "Ada", days: 365 }, attempt: 1, elapsedMs: 365 * 86_400_000 });
    expect(run.steps.map(({ key }) => key)).toEqual(["run.now", "a day", "new year", "greet", "run.now:2"]);
  });

  test("sleeps end in the order of their times", async () => {
    const woken = of(({ step }) =>
      Promise.race([step.sleep("long", "2h").then(() => "long"), step.sleep("short", "1h").then(() => "short")]),
    );
    expect(await testWorkflow(woken, {})).toMatchObject({ result: "short", elapsedMs: 3_600_000 });
  });

  test("mocked steps return a value, or what a function returns", async () => {
    const mocked = of(async ({ step }) => [
      await step.run("value", () => expect.fail("executed")),
      await step.run("value", () => "real"),
      await step.run("function", () => expect.fail("executed")),
    ]);
    const { result } = await testWorkflow(mocked, {
      mocks: { value: 1, "value:2": 2, function: ({ attempt }: { attempt: number }) => attempt },
    });
    expect(result).toEqual([1, 2, 1]);
  });

  test("a step fails as often as chosen, or with the chosen error", async () => {
    const charge = of(({ step }) => step.run("charge", () => "charged"));
    expect(await testWorkflow(charge, { fail: { charge: 2 } })).toMatchObject({ status: "completed", result: "charged", attempt: 3 });
    expect(await testWorkflow(charge, { fail: { charge: 3 } })).toMatchObject({ status: "failed", error: { name: "Error" }, attempt: 3 });
    expect(await testWorkflow(charge, { fail: { charge: new NonRetryableError("declined") } })).toMatchObject({
      status: "failed",
      error: { name: "NonRetryableError", message: "declined" },
      attempt: 1,
    });
  });

  test("a workflow that sleeps in an endless loop fails its test, and may be cancelled", async () => {
    const endless = of(async ({ step }) => {
      for (;;) await step.sleep("tick", "1d");
    });
    await expect(testWorkflow(endless, { maxExecutions: 20 })).rejects.toThrow(
      'The run has not ended after 20 executions; its last step is "tick:20". If the workflow needs more, raise maxExecutions.',
    );
    expect(await testWorkflow(endless, { cancelAfter: "tick:3" })).toMatchObject({ status: "cancelled" });
    const long = of(async ({ step }) => {
      for (let day = 0; day < 30; day += 1) await step.sleep("tick", "1d");
    });
    expect(await testWorkflow(long, { maxExecutions: 31 })).toMatchObject({ status: "completed", elapsedMs: 30 * 86_400_000 });
  });

  test("the backoffs of steps and of the run pass at once", async () => {
    const charge = of(({ step }) => step.run("charge", () => "charged", { attempts: 3, backoff: { delay: "1h" } }));
    const { elapsedMs } = await testWorkflow(charge, { fail: { charge: 2 } });
    expect(elapsedMs).toBeGreaterThanOrEqual(3 * 3_600_000);
  });
});

describe("testWorkflow refuses what would make a test pass for nothing", () => {
  const load = of(async ({ step }) => {
    await step.sleep("nap", "1h");
    await step.run("charge", () => 1);
    return step.run("load user", () => 2);
  });

  test.for<[object, string]>([
    [{ inputs: 1 }, "inputs is not an option of testWorkflow. Did you mean input?"],
    [{ crash: "x" }, 'crash must be "afterEveryStep" or "everywhere", not "x".'],
    [{ maxExecutions: 0 }, "maxExecutions must be a whole number of at least 1, not 0."],
    [{ mocks: [] as never, startAt: "soon" }, "startAt must be a Date, or a string such as"],
    [{ fail: { charge: "often" } }, 'fail.charge must be an Error, or how many times the step fails, not "often".'],
    [{ mocks: { "lod user": 1 } }, 'mocks has "lod user", but the run has no such step. Did you mean load user?'],
    [{ mocks: { ship: 1 } }, 'mocks has "ship", but the run has no such step.'],
    [{ fail: { chrge: 1 } }, 'fail has "chrge", but the run has no such step. Did you mean charge?'],
    [{ mocks: { nap: 1 } }, 'mocks has "nap", which is a step of the type sleep: the test cannot replace it.'],
    [
      { mocks: { lod: 1 }, fail: { "load user": new NonRetryableError("gone"), chage: 1 } },
      'fail has "chage", but the run has no such step.',
    ],
  ])("%j: %s", async ([options, says]) => {
    await expect(testWorkflow(load, options)).rejects.toThrow(says);
  });

  const asks = of(async ({ step }) => {
    await step.waitForSignal("approval", { signal: "approve.u1", timeout: "1d" });
    return step.invoke("score", { workflow: "score", timeout: "1h" });
  });
  const answers = { signals: { "approve.u1": true }, invokes: { score: 1 } };

  test.for<[Partial<typeof answers>, string]>([
    [{ signals: { ...answers.signals, "approve.u2": 1 } as never }, 'signals has "approve.u2", but the run did not wait for this signal.'],
    [{ invokes: { ...answers.invokes, scores: 1 } as never }, 'invokes has "scores", but the run did not invoke this workflow.'],
  ])("%j: %s", async ([options, says]) => {
    await expect(testWorkflow(asks, { ...answers, ...options })).rejects.toThrow(says);
  });

  test.for(["afterEveryStep", "everywhere"] as const)("signals and workflows that invoked runs use are used, with %s", async (crash) => {
    const parent = of(async ({ step }) => {
      await step.signal("register", { signal: "done.u1" });
      await step.invoke("ask", { workflow: asks, timeout: "24h" });
      return step.waitForSignal("done", { signal: "done.u1", timeout: "1d" });
    });
    const signals = { ...answers.signals, "done.u1": 2 };
    const tested = await testWorkflow(parent, { signals, invokes: { ...answers.invokes, [asks.id]: asks }, crash });
    expect(tested).toMatchObject({ status: "completed", result: 2 });
  });

  test("a run that failed may not have come to all of them", async () => {
    const options = { mocks: { "load user": 2 }, fail: { charge: new NonRetryableError("declined") } };
    expect(await testWorkflow(load, options)).toMatchObject({ status: "failed", error: { message: "declined" } });
  });
});

describe("names and races at the edge", () => {
  test("a step may have the name of what every object has", async () => {
    const named = of(async ({ step }) => [await step.run("constructor", () => 1), await step.run("__proto__", () => 2)]);
    expect((await testWorkflow(named, {})).result).toEqual([1, 2]);
  });

  test("a race of no steps fails in place of never ending", async () => {
    const race = of(async ({ step }) => step.race({}));
    expect(await testWorkflow(race, {})).toMatchObject({
      status: "failed",
      attempt: 1,
      error: { message: expect.stringContaining("at least one step") },
    });
  });
});

describe("what a workflow changes of what a step returned", () => {
  const undone: unknown[] = [];
  const pushes = of(async ({ step }) => {
    const list = await step.run("load", () => [1], { undo: (loaded) => undone.push(loaded) });
    list.push(2);
    await step.run("count", () => list.length);
    await step.sleep("nap", "1h");
    return list;
  });

  test.for([undefined, "afterEveryStep", "everywhere"] as const)(
    "is not stored, and is the same in a replay (crash: %s)",
    async (crash) => {
      const { result, steps } = await testWorkflow(pushes, crash === undefined ? {} : { crash });
      expect(result).toEqual([1, 2]);
      expect(steps.map(({ output }) => output)).toEqual([[1], 2, null]);
    },
  );

  test("is not in the input of a replay", async () => {
    const takes = workflow({ id: "takes" }, async ({ input, step }: WorkflowContext<string[]>) => {
      const name = input.pop();
      await step.run("load", () => name);
      return [name, input.length];
    });
    const tested = await testWorkflow(takes, { input: ["a", "b"], crash: "everywhere" });
    expect(tested.result).toEqual(["b", 1]);
  });

  test("is not what the step is undone with", async () => {
    await testWorkflow(pushes, { cancelAfter: "count" });
    expect(undone).toEqual([[1]]);
  });
});

describe("crash: afterEveryStep", () => {
  test("a deterministic workflow has each effect once, and the same result", async () => {
    const effects: string[] = [];
    const order = of(async ({ step, run }) => {
      const id = run.uuid();
      const items = await Promise.all(["a", "b"].map((key) => step.run("reserve", () => effects.push(key), { key })));
      const note = await step.run("pay", () => Promise.reject(new Error("declined"))).catch((error: Error) => error.message);
      await step.sleep("pause", "1h");
      const { winner } = await step.race({ ship: step.run("ship", () => effects.push("ship")), late: step.sleep("late", "1d") });
      return { id, items: items.length, note, winner };
    });
    const plain = await testWorkflow(order, {});
    effects.length = 0;
    const crashed = await testWorkflow(order, { crash: "afterEveryStep" });
    expect(crashed.result).toEqual(plain.result);
    expect(crashed.result).toMatchObject({ items: 2, note: "declined", winner: "ship" });
    // Once with crashes, and once without.
    expect(effects).toEqual(["a", "b", "ship", "a", "b", "ship"]);
  });

  test("a variable that a step sets, and that a replay does not, is found", async () => {
    const charged: number[] = [];
    const bill = of(async ({ step }) => {
      let total = 0;
      await step.run("sum", () => {
        total = 42;
      });
      await step.run("charge", () => void charged.push(total));
      return total;
    });
    await expect(testWorkflow(bill, { crash: "afterEveryStep" })).rejects.toThrow(
      'With crashes, the run was different. It ended as {"status":"completed","result":0}, and without crashes as {"status":"completed","result":42}.',
    );
    expect(charged).toEqual([0, 42]);
  });

  test("a step that only runs without crashes reach is found", async () => {
    const bill = of(async ({ step }) => {
      let total = 0;
      await step.run("sum", () => {
        total = 42;
      });
      if (total > 0) await step.run("charge", () => "charged");
    });
    await expect(testWorkflow(bill, { crash: "afterEveryStep" })).rejects.toThrow('Step "charge" has not had its effect.');
  });

  test("a race that a crash decides otherwise passes", async () => {
    const raced = of(async ({ step }) => {
      const twice = async () => {
        await step.run("first", () => "1");
        return step.run("second", () => "2");
      };
      const slow = step.run("slow", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("slow"))));
      return Promise.race([twice(), slow]);
    });
    expect((await testWorkflow(raced, {})).result).toBe("2");
    expect(await testWorkflow(raced, { crash: "afterEveryStep" })).toMatchObject({ status: "completed", result: "slow" });
  });

  test("the run with crashes is the first one that changes anything", async () => {
    const sent: string[] = [];
    const send = of(({ step }) => step.run("send", () => sent.push("mail")));
    expect(await testWorkflow(send, { crash: "afterEveryStep" })).toMatchObject({ status: "completed", result: 1 });
  });

  test("a step that depends on what is not remembered is found", async () => {
    let executions = 0;
    const counts = of(async ({ step }) => {
      executions += 1;
      await step.run(`execution ${executions}`, () => {});
    });
    await expect(testWorkflow(counts, { crash: "afterEveryStep" })).rejects.toThrow(
      'The workflow is not deterministic. The journal has step "execution 1", but the code does not reach it.',
    );
  });

  test("a result that depends on what is not remembered is found", async () => {
    let executions = 0;
    const counts = of(async ({ step }) => {
      await step.run("work", () => {});
      executions += 1;
      return executions;
    });
    await expect(testWorkflow(counts, { crash: "afterEveryStep" })).rejects.toThrow("but a replay of its journal ended as");
  });
});

describe("crash: everywhere", () => {
  test("each effect happens, again where its outcome was lost, and the result is the same", async () => {
    const effects: string[] = [];
    const approval = signal<{ ok: boolean }>();
    const order = of(async ({ step, run }) => {
      const id = run.uuid();
      const items = await Promise.all(["a", "b"].map((key) => step.run("reserve", () => `${effects.push(key) > 0}`, { key })));
      await step.signal("ask", { signal: "approve.x" });
      await step.sendEvent("tell", { name: "order.placed" });
      const { ok } = await step.waitForSignal("approval", { signal: "approve.x", timeout: "1h", of: approval });
      const note = await step.run("pay", () => Promise.reject(new Error("declined"))).catch((error: Error) => error.message);
      await step.sleep("pause", "1h");
      const { winner } = await step.race({ ship: step.run("ship", () => effects.push("ship") > 0), late: step.sleep("late", "1d") });
      return { id, items, ok, note, winner };
    });
    const signals = { "approve.x": { ok: true } };
    const plain = await testWorkflow(order, { signals });
    effects.length = 0;
    const crashed = await testWorkflow(order, { signals, crash: "everywhere" });
    expect(crashed).toMatchObject({ result: plain.result, attempt: 1, events: [{ name: "order.placed" }] });
    expect(effects.filter((one) => one === "ship")).toHaveLength(3);
    expect(new Set(effects)).toEqual(new Set(["a", "b", "ship"]));
  });

  test("invoked runs crash as well, and steps are undone though outcomes are lost", async () => {
    const undone: string[] = [];
    const child = workflow({ id: "child" }, ({ step }) => step.run("work", () => "done"));
    const books = of(async ({ step, run }) => {
      await step.run("book", () => "b1", { undo: (booking) => undone.push(booking) });
      run.progress("booked");
      const { result } = await step.invoke("child", { workflow: child, timeout: "1h" });
      await step.run("pay", () => Promise.reject(new Error(`declined after ${result}`)), { attempts: 1 });
    });
    const options = { invokes: { child }, crash: "everywhere" } as const;
    const failed = await testWorkflow(books, options);
    expect(failed).toMatchObject({ status: "failed", error: { message: "declined after done" }, undoErrors: [] });
    expect(undone.length).toBeGreaterThan(1);
    expect(await testWorkflow(books, { ...options, cancelAfter: "book" })).toMatchObject({ status: "cancelled", undoErrors: [] });
  });

  test("undos whose outcomes are lost use no attempt of the run, however many there are", async () => {
    const books = of(async ({ step }) => {
      for (const key of ["a", "b", "c"]) await step.run("book", () => key, { key, undo: () => {} });
      throw new NonRetryableError("declined");
    });
    const { status, error, attempt, steps } = await testWorkflow(books, { crash: "everywhere" });
    expect({ status, error, attempt }).toEqual({ status: "failed", error: { name: "NonRetryableError", message: "declined" }, attempt: 1 });
    expect(steps.map(({ key }) => key).slice(-3)).toEqual(["undo(book[c])", "undo(book[b])", "undo(book[a])"]);
  });

  test("a run that fails ends with the same error", async () => {
    const charge = of(({ step }) => step.run("charge", () => "charged", { attempts: 2 }));
    const error = { name: "Error", message: "declined" };
    expect(await testWorkflow(charge, { fail: { charge: new Error("declined") }, crash: "everywhere" })).toMatchObject({
      status: "failed",
      error,
    });
  });

  test("a result that depends on how often the workflow was executed is found", async () => {
    let executions = 0;
    const counts = of(async ({ step }) => {
      executions += 1;
      const first = executions === 1 || executions > 100;
      await step.run("work", () => "done");
      return first;
    });
    await expect(testWorkflow(counts, { crash: "everywhere" })).rejects.toThrow(
      'With crashes, the run was different. It ended as {"status":"completed","result":false}, and without crashes as',
    );
  });

  test("an effect that a later execution leaves out is found", async () => {
    let isSent = true;
    const sends = of(async ({ step }) => {
      const sent = isSent;
      isSent = false;
      await step.run("prepare", () => "prepared");
      if (sent) await step.run("send", () => "sent");
    });
    await expect(testWorkflow(sends, { crash: "everywhere" })).rejects.toThrow('Step "send" has not had its effect.');
  });

  test("an effect that only a later execution has is found", async () => {
    let executions = 0;
    const sends = of(async ({ step }) => {
      executions += 1;
      await step.run("prepare", () => "prepared");
      if (executions > 2) await step.run("send", () => "sent");
    });
    await expect(testWorkflow(sends, { crash: "everywhere" })).rejects.toThrow('Without crashes, it does not reach step "send".');
  });
});

describe("replayJournal", () => {
  const before = workflow({ id: "order" }, async ({ input, step }: WorkflowContext<{ n: number }>) => {
    await step.run("load", () => input.n);
    await step.sleep("nap", "1h");
    return step.run("ship", () => expect.fail("It was executed."));
  });
  const exported = async () => {
    const { steps } = await testWorkflow(before, { input: { n: 1 }, mocks: { ship: "shipped" } });
    return { runId: "run_1", input: { n: 1 }, steps };
  };

  test("fits the code that has written the journal, also when it is cut anywhere, and executes nothing", async () => {
    const run = await exported();
    for (let count = 0; count <= run.steps.length; count += 1)
      expect(await replayJournal(before, { ...run, steps: run.steps.slice(0, count) })).toEqual({ fits: true });
  });

  test.for<[string, (context: WorkflowContext) => unknown, string]>([
    ["leaves a step out", ({ step }) => step.sleep("nap", "1h"), "but the code does not reach it. If the code has changed"],
    ["renames a step", ({ step }) => step.run("load user", () => 1), 'It requests "load user", which the journal does not have.'],
    ["uses it as another type", ({ step }) => step.sleep("load", 1), "as a run step, but the code uses it as a sleep step"],
    ["returns", () => 1, "but the code does not reach it"],
    ["throws", () => Promise.reject(new TypeError("x is not a function")), "throws before it reaches it: TypeError: x is not a function"],
    ["is busy elsewhere", () => new Promise(() => {}), "but the code does not reach it"],
  ])("does not fit code that %s", async ([, program, reason]) => {
    const check = await replayJournal(of(program), await exported(), { patienceMs: 10 });
    expect(check).toEqual({ fits: false, step: "load", reason: expect.stringContaining(reason) });
  });

  test("knows waits that lost a race as cancelled, and code that waits for them", async () => {
    const race = of(async ({ step }) => {
      const { winner } = await step.race({
        answer: step.waitForSignal("answer", { signal: "s", timeout: "2h" }),
        remind: step.sleep("remind", "1h"),
      });
      await step.run("mail", () => {});
      return winner;
    });
    const { steps } = await testWorkflow(race, {});
    expect(steps).toMatchObject([{ key: "answer", status: "cancelled" }, { key: "remind" }, { key: "mail" }]);
    const run = { runId: "run_1", steps };
    expect(await replayJournal(race, run)).toEqual({ fits: true });
    const waits = of(async ({ step }) => {
      const answer = step.waitForSignal("answer", { signal: "s", timeout: "2h" });
      await step.sleep("remind", "1h");
      await step.run("mail", () => {});
      return answer;
    });
    const reason = expect.stringContaining('step "answer" as cancelled, but the code waits for it');
    expect(await replayJournal(waits, run, { patienceMs: 10 })).toEqual({ fits: false, step: "answer", reason });
  });

  test("needs a journal", async () => {
    await expect(replayJournal(before, { runId: "run_1" })).rejects.toThrow("The run must have a journal");
  });
});

describe("lifecycle hooks in testWorkflow", () => {
  test("onSuccess is called once, with the result, though an attempt failed", async () => {
    const calls: unknown[] = [];
    const onFailure = () => expect.fail("called");
    const hooked = workflow({ id: "hooked", onSuccess: (end) => void calls.push(end), onFailure }, ({ step }) => step.run("a", () => 1));
    await testWorkflow(hooked, { fail: { a: 1 } });
    expect(calls).toEqual([{ runId: "run_test", functionId: "hooked", attempt: 2, result: 1 }]);
  });

  test("onFailure is called once, with the error, when the attempts are used up", async () => {
    const calls: unknown[] = [];
    const hooked = workflow({ id: "hooked", onFailure: (end) => void calls.push(end) }, ({ step }) => step.run("a", () => 1));
    await testWorkflow(hooked, { fail: { a: 3 } });
    expect(calls).toMatchObject([{ functionId: "hooked", attempt: 3, error: { name: "Error" } }]);
  });

  test("an error of a hook is listed, and the run stays completed", async () => {
    const onSuccess = () => Promise.reject(new Error("No mail today."));
    const run = await testWorkflow(
      workflow({ id: "hooked", onSuccess }, () => 1),
      {},
    );
    expect(run).toMatchObject({ status: "completed", hookErrors: [{ hook: "onSuccess", message: "No mail today." }] });
  });
});

test.for(["message", "stack", "cause"])("a run fails with an error of a step whose %s cannot be read", async (property) => {
  const error = Object.defineProperty(new Error("It broke."), property, {
    get: () => {
      throw new Error("It cannot be read.");
    },
  });
  const throwing = (): never => {
    throw error;
  };
  const message = property === "message" ? "Something without a text was thrown." : "It broke.";
  for (const program of [({ step }: WorkflowContext) => step.run("break", throwing), throwing])
    expect(await testWorkflow(workflow({ id: "broken" }, program), {})).toMatchObject({ status: "failed", attempt: 3, error: { message } });
});
