import { Readable } from "node:stream";
import {
  NonRetryableError,
  RetryAfterError,
  RunAbortedError,
  type RunStepOptions,
  type StepContext,
  type WorkflowContext,
  workflow,
} from "@tidemill/sdk";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Deadline } from "../../src/deadline.ts";
import { ExecutingSteps } from "../../src/workflow/executing-steps.ts";
import { liveHost, type NeededHost, type RunHost } from "../../src/workflow/host.ts";
import { Outbox } from "../../src/workflow/outbox.ts";
import type { RunOutcome } from "../../src/workflow/run-outcome.ts";
import { stepSettings } from "../../src/workflow/step-settings.ts";
import { done, MemoryRun } from "./memory-journal.ts";

type Context = WorkflowContext<never>;

/** Steps that say when they run, and end when the test says so. */
function manual() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<unknown>>();
  const end = (name: string) => ends.get(name) ?? (ends.set(name, Promise.withResolvers()).get(name) as PromiseWithResolvers<unknown>);
  return {
    started,
    fn: (name: string) => () => {
      started.push(name);
      return end(name).promise;
    },
    end: (name: string, value: unknown = name) => end(name).resolve(value),
  };
}

describe("steps in a row", () => {
  test("each is stored before the next one begins (I8)", async () => {
    const seen: [string, string[]][] = [];
    const run = new MemoryRun(async ({ step }: Context) => {
      const see = (name: string) => seen.push([name, run.keys]);
      return [await step.run("a", () => see("a")), await step.run("b", () => see("b"))];
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: [1, 2] });
    expect(seen).toEqual([
      ["a", []],
      ["b", ["a"]],
    ]);
  });

  test("a remembered step is not executed again", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(
      async ({ step }: Context) => [
        await step.run("a", () => void executed.push("a")),
        await step.run("b", () => {
          executed.push("b");
          return "new";
        }),
      ],
      { journal: [done("a", "remembered")] },
    );
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: ["remembered", "new"] });
    expect(executed).toEqual(["b"]);
  });

  test("a step returns what a replay will return: dates as text, nothing as null", async () => {
    const run = new MemoryRun(async ({ step }: Context) => [
      await step.run("date", () => new Date(0)),
      await step.run("nothing", () => {}),
    ]);
    const expected = { outcome: "completed", result: ["1970-01-01T00:00:00.000Z", null] };
    expect(await run.execute()).toMatchObject(expected);
    expect(await run.execute()).toEqual(expected);
  });

  test("a name used again gets the number of its use", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      const got = [];
      for (const n of [1, 2, 3]) got.push(await step.run("tick", () => n));
      return got;
    });
    expect(await run.execute()).toMatchObject({ result: [1, 2, 3] });
    expect(run.keys).toEqual(["tick", "tick:2", "tick:3"]);
    expect(await run.execute()).toMatchObject({ result: [1, 2, 3] });
  });

  test("a step gets its attempt, a signal and an idempotency key of its own", async () => {
    const got: unknown[] = [];
    const run = new MemoryRun(async ({ step }: Context) => {
      for (const _ of [1, 2])
        await step.run("pay bill", ({ attempt, idempotencyKey, signal }) => void got.push([attempt, idempotencyKey, signal.aborted]));
    });
    await run.execute();
    expect(got).toEqual([
      [1, "run_1:pay%20bill", false],
      [1, "run_1:pay%20bill%3A2", false],
    ]);
  });

  test("an error in a result is its name and message, with its own members", async () => {
    class NoPath extends RangeError {
      override readonly name = "NoPath";
    }
    const cause = new Error("why");
    const value = { at: [{}, Object.assign(new Error("no", { cause }), { code: 7 })], last: new NoPath("none"), settled: cause };
    const remembered = {
      at: [{}, { name: "Error", message: "no", code: 7 }],
      last: { name: "NoPath", message: "none" },
      settled: { name: "Error", message: "why" },
    };
    const got: unknown[] = [];
    const run = new MemoryRun(async ({ step }: Context) => {
      got.push(await step.run("get", () => value));
      return value;
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: remembered });
    expect(got).toEqual([remembered]);
  });

  test.for<[string, unknown]>([
    ["it is a Response, which would become {}. Take what you need of it, such as await response.json().", new Response()],
    ["it is a Request, which would become {}. Take what you need of it, such as await request.json().", new Request("https://example.com")],
    ["[0].later is a Promise, which would become {}. Await it.", [{ later: Promise.resolve() }]],
    ["it is an iterator or generator, which would become {}. Make it an array, for example by Array.from.", new Map().keys()],
    ["it is an iterator or generator, which would become {}. Make it an array, for example by Array.from.", (async function* () {})()],
    ["users.byId is a Map, which would become {}. Make it an object or an array", { users: { byId: new Map([[1, "Ada"]]) } }],
    ["it is a Set, which would become {}. Make it an array, for example by Array.from.", new Set([1])],
    ["it is a WeakMap, which would become {}. Leave it out.", new WeakMap()],
    ["it is a RegExp, which would become {}. Use its source.", /a/],
    ["it is Headers, which would become {}. Make it an object", new Headers({ a: "b" })],
    ["it is FormData, which would become {}. Make it an object", new FormData()],
    ["it is URLSearchParams, which would become {}. Make it a string", new URLSearchParams("a=b")],
    ["files[1] is a Blob, which would become {}. Take what is in it", { files: [null, new Blob(["a"])] }],
    ["it is a ReadableStream, which would become {}. Read it", new Blob(["a"]).stream()],
    ["it is a WritableStream, which would become {}. Leave it out.", new WritableStream()],
    ["it is a TransformStream, which would become {}. Leave it out.", new TransformStream()],
    ["body is a stream, which would become an object of its settings. Read it", { body: Readable.from(["a"]) }],
    ["it is an AbortSignal, which would become {}. Leave it out.", new AbortController().signal],
    ["it is an ArrayBuffer, which would become {}. Make it a string", new ArrayBuffer(1)],
    ["it is a DataView, which would become {}. Make it a string", new DataView(new ArrayBuffer(1))],
    ["it is a Map, which would become {}. Make it an object or an array", { toJSON: () => new Map([[1, 2]]) }],
    ["users[1].ids is a Set, which would become {}. Make it an array", { users: [{}, { toJSON: () => ({ ids: new Set([1]) }) }] }],
    ["row.hash is a typed array (Uint8Array), which would become an object of numbers. Make it", { row: { hash: new Uint8Array(2) } }],
  ])("a result that JSON does not keep fails its run for good: %s", async ([message, value]) => {
    for (const program of [({ step }: Context) => step.run("get", () => value), () => value]) {
      const outcome = await new MemoryRun(program).execute();
      expect(outcome).toMatchObject({ outcome: "failed", error_name: "NonRetryableError", retry: false });
      expect(outcome).toMatchObject({ error: expect.stringContaining(` has no JSON: ${message}`) });
    }
  });

  test("a result is kept as the toJSON of its values makes it", async () => {
    const value = {
      at: new Date(0),
      url: new URL("https://example.com"),
      bytes: Buffer.from("a"),
      map: Object.assign(new Map(), { toJSON: () => [1] }),
    };
    const result = { at: "1970-01-01T00:00:00.000Z", url: "https://example.com/", bytes: { type: "Buffer", data: [97] }, map: [1] };
    expect(await new MemoryRun(({ step }: Context) => step.run("get", () => value)).execute()).toMatchObject({
      outcome: "completed",
      result,
    });
  });

  test("an object of a class is kept with its members", async () => {
    class User {
      readonly name = "Ada";
    }
    expect(await new MemoryRun(() => new User()).execute()).toMatchObject({ outcome: "completed", result: { name: "Ada" } });
  });

  test("an error in a result may have members that JSON does not keep, which are left out", async () => {
    const response = new Response();
    const error = Object.assign(new Error("no"), {
      code: 7,
      response,
      tried: [response],
      sent: { request: new Request("https://example.com") },
      headers: new Map(),
    });
    const remembered = { name: "Error", message: "no", code: 7, tried: [null], sent: {} };
    const run = new MemoryRun(({ step }: Context) => step.run("get", () => ({ error })));
    expect(await run.execute()).toEqual({ outcome: "completed", result: { error: remembered }, steps: expect.anything() });
  });

  test("only what JSON has of a result is searched, which may have itself as another member", async () => {
    const list: unknown[] = [1];
    Object.assign(list, { list, response: new Response() });
    expect(await new MemoryRun(({ step }: Context) => step.run("get", () => list)).execute()).toMatchObject({ result: [1] });
  });

  test("an error whose members have no end has no JSON", async () => {
    const error = new Error("no");
    Object.defineProperty(error, "name", { value: error });
    expect(await new MemoryRun(({ step }: Context) => step.run("get", () => ({ error }))).execute()).toMatchObject({
      outcome: "failed",
      error_name: "NonRetryableError",
      error: expect.stringContaining('The result of step "get" has no JSON'),
      retry: false,
    });
  });

  test("an AggregateError in a result has its errors", async () => {
    const error = new AggregateError([Object.assign(new TypeError("why"), { code: 7 }), 1], "all");
    const errors = [{ name: "TypeError", message: "why", code: 7 }, 1];
    expect(await new MemoryRun(() => error).execute()).toEqual({
      outcome: "completed",
      result: { name: "AggregateError", message: "all", errors },
    });
  });

  test("an error that has JSON of its own is remembered as that", async () => {
    const error = Object.assign(new Error("no"), { toJSON: () => ({ code: 7, headers: new Headers() }) });
    expect(await new MemoryRun(() => ({ error })).execute()).toMatchObject({ outcome: "completed", result: { error: { code: 7 } } });
  });

  test("a generator is no function of a workflow or of a step", async () => {
    for (const program of [function* () {}, async function* () {}]) {
      const message = "is a generator, which a call does not execute. Make it an async function.";
      expect(() => workflow({ id: "tested" }, program as never)).toThrow(`The function of the workflow tested ${message}`);
      expect(await new MemoryRun(({ step }: Context) => step.run("a", program as never)).execute()).toMatchObject({
        error_name: "InvalidStepError",
        error: expect.stringContaining("must not be a generator"),
        retry: false,
      });
    }
  });

  test("the result of a run is made JSON once", async () => {
    let made = 0;
    const result = { toJSON: () => ++made };
    expect(await new MemoryRun(() => result).execute()).toEqual({ outcome: "completed", result: 1 });
    expect(made).toBe(1);
  });

  test("a result without JSON fails its run for good", async () => {
    const run = new MemoryRun(async ({ step }: Context) => step.run("big", () => 1n));
    expect(await run.execute()).toMatchObject({
      outcome: "failed",
      retry: false,
      error: 'The result of step "big" has no JSON: it is a BigInt.',
    });
  });

  test("a journal of 2,000 steps is replayed without executing or storing anything", async () => {
    const run = new MemoryRun(
      async ({ step }: Context) => {
        let sum = 0;
        for (let n = 0; n < 2_000; n += 1) sum += (await step.run("add", () => 0)) as number;
        return sum;
      },
      { journal: Array.from({ length: 2_000 }, (_, n) => done(n === 0 ? "add" : `add:${n + 1}`, 1)) },
    );
    expect(await run.execute()).toEqual({ outcome: "completed", result: 2_000 });
    expect(run.calls).toEqual([]);
  });
});

describe("steps at the same time", () => {
  test("they run together", async () => {
    const { started, fn, end } = manual();
    const run = new MemoryRun(({ step }: Context) => Promise.all([step.run("a", fn("a")), step.run("b", fn("b"))]));
    const execution = run.execute();
    await expect.poll(() => started).toEqual(["a", "b"]);
    end("b");
    end("a");
    expect(await execution).toMatchObject({ result: ["a", "b"] });
  });

  test("outcomes that come while others are being stored share the next call; the last ones go with the end", async () => {
    const { started, fn, end } = manual();
    const goOn = Promise.withResolvers<void>();
    const run = new MemoryRun(({ step }: Context) => Promise.all(["a", "b", "c", "d"].map((name) => step.run(name, fn(name)))));
    const execution = run.execute({
      store: async (steps) => {
        run.calls.push(steps.map(({ key }) => key));
        if (run.calls.length > 1) return [];
        end("b");
        end("c");
        await goOn.promise;
        return [];
      },
    });
    await expect.poll(() => started.length).toBe(4);
    end("a");
    await expect.poll(() => run.calls.length).toBe(1);
    goOn.resolve();
    await expect.poll(() => run.calls.length).toBe(2);
    end("d");
    expect(await execution).toMatchObject({ outcome: "completed", steps: [{ key: "d" }] });
    expect(run.calls).toEqual([["a"], ["b", "c"]]);
  });

  test.for([
    ["a", "b"],
    ["b", "a"],
  ])("a race is won in a replay by who won it first: %s", async ([first = "", second = ""]) => {
    const { started, fn, end } = manual();
    const run = new MemoryRun(async ({ step }: Context) => {
      const both = [step.run("a", fn("a")), step.run("b", fn("b"))];
      const winner = await Promise.race(both);
      await Promise.all(both);
      return winner;
    });
    const execution = run.execute();
    await expect.poll(() => started.length).toBe(2);
    end(first);
    await expect.poll(() => run.keys).toEqual([first]);
    end(second);
    expect(await execution).toMatchObject({ result: first });
    expect(run.keys).toEqual([first, second]);
    expect(await run.execute()).toMatchObject({ result: first });
  });

  type Wait = (name: string) => Promise<unknown>;
  test.for<[string, (step: Context["step"], wait: Wait) => Promise<unknown>]>([
    ["then", (_, wait) => wait("a").then(() => "answered")],
    [
      "catch and finally",
      (_, wait) =>
        wait("a")
          .catch(() => "failed")
          .finally(() => {}),
    ],
    ["another race", (step, wait) => step.race({ a: wait("a"), b: wait("b").then(() => "answered") })],
  ])("what %s makes of a step is cancelled when it loses a race, and its name is free", async ([, derived]) => {
    const run = new MemoryRun(async ({ step }: Context) => {
      const wait = (name: string) => step.waitForSignal(name, { signal: `s.${name}`, timeout: "2h" });
      for (const _ of [1, 2]) await step.race({ loser: derived(step, wait), late: step.sleep("late", "1h") });
      await step.run("mail", () => {});
    });
    const waiting = () => run.journal.filter(({ type, status }) => type === "wait" && status === "waiting");
    await run.execute();
    const count = waiting().length;
    run.wake("late");
    expect(await run.execute()).toMatchObject({ outcome: "suspended" });
    expect(waiting()).toHaveLength(count);
    run.wake("late:2");
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
    expect(waiting()).toEqual([]);
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });

  test("a fallback that is given to a race is for failures, and not executed because its step lost", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      const withFallback = (name: string, work: () => unknown) => step.run(name, work).catch(() => step.run(`${name} else`, () => "else"));
      const slow = step.run("slow", () => new Promise(() => {}));
      const lost = slow.catch(() => step.run("slow else", () => "else"));
      const other = slow.catch((error) => error.name);
      const ends: string[] = [];
      const { value } = await step.race({
        lost: step.race({ lost, never: new Promise(() => {}) }),
        lostThen: slow.then(null, () => step.run("slow else", () => "else")).finally(() => void ends.push("slow")),
        won: withFallback("fails", () => Promise.reject(new NonRetryableError("gone"))),
      });
      await step.run("next", () => {});
      const [settled] = await Promise.allSettled([lost]);
      return [value, settled.status === "rejected" && settled.reason.name, await other, ...ends];
    });
    const cancelled = "StepCancelledError";
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: ["else", cancelled, cancelled, "slow"] });
    expect(run.keys).toEqual(["fails", "fails else", "next"]);
  });

  test("a program that takes some ticks to go on after an outcome does so before the next one, when they end and in replays", async () => {
    const tick = () => new Promise<void>((resolve) => process.nextTick(resolve));
    const run = new MemoryRun(async ({ step }: Context) => {
      const order: string[] = [];
      const branch = async (name: string, ticks: number) => {
        await step.run(name, () => name);
        for (let at = 0; at < ticks; at += 1) await tick();
        order.push(name);
      };
      await Promise.all([branch("a", 5), branch("b", 0)]);
      await step.run(`first ${order[0]}`, () => {});
      await step.sleep("pause", 1);
      return order;
    });
    await run.execute();
    expect(run.keys).toEqual(["a", "b", "first a", "pause"]);
    run.wake();
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: ["a", "b"] });
  });

  test("outcomes that come in one turn of the event loop are stored together", async () => {
    const slow = Promise.withResolvers<void>();
    const soon = () => new Promise((resolve) => setImmediate(resolve));
    const run = new MemoryRun(({ step }: Context) =>
      Promise.all([step.run("slow", () => slow.promise), ...["a", "b", "c"].map((name) => step.run(name, soon))]),
    );
    const execution = run.execute();
    await expect.poll(() => run.calls).toEqual([["a", "b", "c"]]);
    slow.resolve();
    await execution;
  });

  test("a step that is not in the journal begins only when all remembered ones have been delivered", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(
      ({ step }: Context) => {
        const chain = async (name: string) => {
          for (const n of [1, 2, 3]) await step.run(`${name}${n}`, () => void executed.push(`${name}${n}`));
        };
        return Promise.all([chain("a"), chain("b")]);
      },
      { journal: [done("b1"), done("b2")] },
    );
    await run.execute();
    expect(executed.slice(0, 2).sort()).toEqual(["a1", "b3"]);
    expect(executed).toHaveLength(4);
  });

  test("a name used again before it has ended is refused, and the message says how to give a key", async () => {
    const run = new MemoryRun(({ step }: Context) => Promise.all([1, 2].map((n) => step.run("send", () => n))));
    expect(await run.execute()).toMatchObject({
      outcome: "failed",
      retry: false,
      error_name: "DuplicateStepError",
      error: expect.stringMatching(/^Step "send" is used again before it has ended\. .*\{ key: user\.id \}/),
    });
  });

  test("a name used again before it has ended fails the run for good, also if the workflow catches it", async () => {
    const run = new MemoryRun(({ step }: Context) => Promise.allSettled([step.run("send", () => 1), step.run("send", () => 2)]));
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "DuplicateStepError", retry: false });
    expect(run.keys).toEqual([]);
  });

  test("keys tell uses of a name apart", async () => {
    const run = new MemoryRun(({ step }: Context) => Promise.all(["x", "y"].map((key) => step.run("send", () => key, { key }))));
    expect(await run.execute()).toMatchObject({ result: ["x", "y"] });
    expect(run.keys).toEqual(["send[x]", "send[y]"]);
  });
});

describe("failures of steps", () => {
  test("are looked for among the unsent outcomes a few times, no matter how many steps have failed", async () => {
    const provisional = vi.spyOn(Outbox.prototype, "provisional", "get");
    onTestFinished(() => provisional.mockRestore());
    const run = new MemoryRun(async ({ step }: Context) => {
      const fails = (key: number) =>
        step.run(
          "mail",
          () => {
            throw new Error("Down.");
          },
          { key },
        );
      const settled = await Promise.allSettled(Array.from({ length: 100 }, (_, key) => fails(key)));
      throw new AggregateError(settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : [])));
    });
    const outcome = await run.execute();
    expect(outcome.outcome === "failed" && outcome.retry_steps).toHaveLength(100);
    expect(provisional.mock.calls.length).toBeLessThan(10);
  });

  test("one that is caught is remembered, by name and message", async () => {
    let executed = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      try {
        await step.run("pay", () => {
          executed += 1;
          throw new RangeError("no cover");
        });
      } catch (error) {
        const { name, message } = error as Error;
        return step.run("note", () => `${name}: ${message}`);
      }
    });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "RangeError: no cover" });
    expect(run.journal).toMatchObject([
      { key: "pay", status: "failed", error: { name: "RangeError", message: "no cover" } },
      { key: "note" },
    ]);
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "RangeError: no cover" });
    expect(executed).toBe(1);
  });

  test("it is stored before the next step begins (I8)", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("pay", () => Promise.reject(new Error("no"))).catch(() => {});
      return step.run("next", () => run.keys);
    });
    expect(await run.execute()).toMatchObject({ result: ["pay"] });
  });

  test("one that nobody catches ends the attempt, and the step is executed again in the run's next one", async () => {
    let executed = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("before", () => {});
      return step.run("load", () => {
        executed += 1;
        if (executed === 1) throw new Error("no connection");
        return "loaded";
      });
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no connection", error_name: "Error" });
    expect(run.keys).toEqual(["before"]);
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "loaded", steps: [{ key: "load" }] });
  });

  test("a failure that the run's next attempt forgets takes nothing with it that the program did after it", async () => {
    const { started, fn, end } = manual();
    const run = new MemoryRun(async ({ step, run: { uuid } }: Context) => {
      const slow = step.run("slow", fn("slow"));
      uuid();
      await step.run("quick", () => Promise.reject(new Error("no"))).catch(uuid);
      await slow;
      throw new Error("It fails.");
    });
    const execution = run.execute();
    await expect.poll(() => started.length).toBe(1);
    end("slow");
    expect(await execution).toMatchObject({ outcome: "failed", error: "It fails." });
    expect(run.keys).toEqual(["run.uuid", "slow"]);
  });

  test("one that nobody waits for yet does not count, whatever the workflow does meanwhile", async () => {
    let executed = 0;
    const run = new MemoryRun(async ({ step }: Context) => {
      const flaky = step.run("flaky", () => {
        executed += 1;
        if (executed === 1) throw new Error("no connection");
        return "loaded";
      });
      await step.run("x", () => {});
      await step.run("y", () => {});
      return flaky;
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no connection", error_name: "Error" });
    expect(run.keys).toEqual(["x", "y"]);
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: "loaded" });
  });

  test("one beside an event and a sleep is executed again in the run's next attempt", async () => {
    let executed = 0;
    const run = new MemoryRun(({ step }: Context) => {
      const flaky = step.run("flaky", () => (++executed === 1 ? Promise.reject(new Error("no connection")) : "loaded"));
      return Promise.all([flaky, step.sendEvent("tell", { name: "some.event" }), step.sleep("pause", "1s")]);
    });
    const failed = await run.execute();
    expect(failed).toMatchObject({ outcome: "failed", error: "no connection" });
    expect(failed).not.toHaveProperty("retry");
    await run.execute();
    run.wake();
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
    expect(executed).toBe(2);
  });

  test.for<[string, (context: Context) => Promise<unknown>]>([
    ["a sleep", ({ step }) => step.sleep("late", "1h")],
    ["a wait", ({ step }) => step.waitForSignal("late", { signal: "s", timeout: "1h" })],
    ["a run", ({ step }) => step.invoke("late", { workflow: "other", timeout: "1h" })],
  ])("one that ends a race with %s is executed again, and the race begins again", async ([, late]) => {
    let executed = 0;
    const run = new MemoryRun((context: Context) => {
      const work = context.step.run("work", async () => {
        executed += 1;
        await expect.poll(() => run.keys).toEqual(["late"]);
        if (executed === 1) throw new Error("no connection");
        return "done";
      });
      return context.step.race({ work, late: late(context) });
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no connection" });
    expect(run.journal).toMatchObject([{ key: "late", status: "waiting" }]);
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: { winner: "work", value: "done" } });
    expect(executed).toBe(2);
  });

  test("one that ends a race for good is executed again by a retry, and so is what it has cancelled", async () => {
    const run = new MemoryRun((context: Context) => {
      const pay = context.step.run("pay", async () => {
        await expect.poll(() => run.keys).toEqual(["late"]);
        throw new NonRetryableError("declined");
      });
      return context.step.race({ pay, late: context.step.sleep("late", "1h") });
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", retry: false, retry_steps: ["pay", "late"] });
  });

  test("steps that failed together are executed again together by a retry", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      Promise.all(["a", "b", "c"].map((name) => step.run(name, () => Promise.reject(new NonRetryableError("no key"))))),
    );
    expect(await run.execute()).toMatchObject({ outcome: "failed", retry: false, retry_steps: ["a", "b", "c"] });
  });

  test("a race that fails is forgotten with its failure if the worker stops before the next step", async () => {
    const caught = Promise.withResolvers<void>();
    const run = new MemoryRun(async ({ step }: Context) => {
      const work = step.run("work", async () => {
        await expect.poll(() => run.keys).toEqual(["late"]);
        throw new Error("no connection");
      });
      await step.race({ work, late: step.sleep("late", "1h") }).catch(() => caught.resolve());
      await new Promise(() => {});
    });
    const execution = run.execute();
    await caught.promise;
    await new Promise(setImmediate);
    run.controller.abort(new RunAbortedError("shutdown"));
    expect(await execution).toEqual({ outcome: "released" });
    expect(run.journal).toMatchObject([{ key: "late", status: "waiting" }]);
  });

  test.for([
    [["flaky", "quick", "slow"], { retry: true, retry_steps: ["flaky"] }],
    [["quick", "flaky", "slow"], { retry_steps: ["flaky"] }],
    [["quick", "slow", "flaky"], { retry_steps: ["flaky"] }],
  ])("one that the workflow throws after other steps is executed again, whatever ends first: %s", async ([order, expected]) => {
    let executed = 0;
    const ends = new Map(["flaky", "quick", "slow"].map((name) => [name, Promise.withResolvers<void>()]));
    const run = new MemoryRun(async ({ step }: Context) => {
      const flaky = () => (++executed === 1 ? Promise.reject(new Error("no connection")) : "loaded");
      const settled = await Promise.allSettled(
        [...ends].map(([name, { promise }]) => step.run(name, () => promise.then(name === "flaky" ? flaky : () => name))),
      );
      for (const { reason } of settled.filter(({ status }) => status === "rejected") as PromiseRejectedResult[]) throw reason;
      return settled.length;
    });
    const execution = run.execute();
    for (const name of order as string[]) {
      for (let n = 0; n < 10; n += 1) await new Promise(setImmediate);
      ends.get(name)?.resolve();
    }
    expect(await execution).toMatchObject({ outcome: "failed", error: "no connection", ...expected });
    expect(run.keys.toSorted()).toEqual(["quick", "slow"]);
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: 3 });
    expect(executed).toBe(2);
  });

  test("one after which the workflow asked for another step is remembered, and fails the run for good", async () => {
    const run = new MemoryRun(async ({ step }: Context) => {
      try {
        await step.run("pay", () => Promise.reject(new Error("no connection")));
      } catch (error) {
        await step.run("note", () => {});
        throw error;
      }
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", retry: false, retry_steps: ["pay", "note"] });
    expect(run.keys).toEqual(["pay", "note"]);
  });

  test("steps in progress beside it end first, and are not executed again", async () => {
    const { started, fn, end } = manual();
    let executed = 0;
    const run = new MemoryRun(({ step }: Context) =>
      Promise.all([
        step.run("flaky", () => (++executed === 1 ? Promise.reject(new Error("no connection")) : "loaded")),
        step.run("slow", fn("slow")),
        step.run("quick", () => "quick"),
      ]),
    );
    const execution = run.execute();
    await expect.poll(() => started).toEqual(["slow"]);
    end("slow");
    expect(await execution).toMatchObject({ outcome: "failed", steps: [{ key: "quick" }, { key: "slow" }] });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: ["loaded", "slow", "quick"] });
    expect(started).toEqual(["slow"]);
  });

  /** The run's first attempt fails beside a step that goes on until its signal is aborted. */
  function beside(listen: (context: StepContext) => unknown, options: Pick<RunStepOptions, "timeout"> = {}) {
    let failures = 0;
    const run = new MemoryRun(({ step }: Context) =>
      Promise.all([
        step.run("listen", listen, options),
        step.run("fails", () => (++failures === 1 ? Promise.reject(new Error("no connection")) : "loaded")),
      ]),
    );
    run.host = { ...run.host, graceMs: 0 };
    return run;
  }

  test.for(["completes", "fails"])("a step in progress beside it that does not end gets a signal, and %s then", async (how) => {
    let executed = 0;
    const run = beside(({ signal }) => {
      executed += 1;
      if (executed === 2) return "heard";
      const { promise, resolve, reject } = Promise.withResolvers();
      signal.addEventListener("abort", () => (how === "completes" ? resolve("heard") : reject(signal.reason)));
      return promise;
    });
    const steps = how === "completes" ? { steps: [{ key: "listen", output: "heard" }] } : {};
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no connection", ...steps });
    expect(await run.execute()).toMatchObject({ outcome: "completed", result: ["heard", "loaded"] });
    expect(executed).toBe(how === "completes" ? 1 : 2);
  });

  test("a step in progress beside it that does not heed its signal is waited for, and its key is reported", async () => {
    const gate = Promise.withResolvers<string>();
    const unstopped: string[] = [];
    const run = beside(() => gate.promise);
    const onUnstopped = (key: string) => {
      unstopped.push(key);
      gate.resolve("heard");
    };
    expect(await run.execute({ stopsWithinMs: 0, onUnstopped })).toMatchObject({ outcome: "failed", steps: [{ key: "listen" }] });
    expect(unstopped).toEqual(["listen"]);
  });

  test.for(["abort", "cancel"] as const)(
    "a step that does not heed its signal is not reported if the execution ends without it: %s",
    async (how, { onTestFinished }) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const reported: string[] = [];
      const host = liveHost({ onUnstopped: (key: string) => reported.push(key) } as unknown as NeededHost);
      const steps = new ExecutingSteps(host, () => {});
      const settings = stepSettings({});
      steps.start({ key: "listen", fn: () => new Promise(() => {}), settings, undoable: true, idempotencyKey: "i" });
      steps[how]("listen", new Error("lost"));
      void steps.ended();
      expect(vi.getTimerCount()).toBe(1);
      steps.cancelAll(() => new Error("The run has ended."));
      expect(vi.getTimerCount()).toBe(0);
      await vi.runAllTimersAsync();
      expect(reported).toEqual([]);
    },
  );

  /** In the first attempt, a step loses a race to one that fails, and ignores its signal until its key is reported. */
  function loser(check: () => unknown) {
    const log: string[] = [];
    const reported = Promise.withResolvers<void>();
    const upload = async ({ signal }: StepContext) => {
      log.push("upload begins");
      await reported.promise;
      log.push(`upload ends, aborted: ${signal.aborted}`);
    };
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("reserve", () => {}, { undo: () => void log.push("undone") });
      await step.race({ upload: step.run("upload", upload), check: step.run("check", check) });
      await step.run("tell", () => {});
    });
    const onUnstopped = (key: string) => {
      log.push(`${key} is reported`);
      reported.resolve();
    };
    run.host = { ...run.host, stopsWithinMs: 0, onUnstopped };
    return { run, log };
  }
  const lateLoser = ["upload begins", "upload is reported", "upload ends, aborted: true"];

  test("a step that lost a race ends before the next attempt, which may execute it again", async () => {
    let checks = 0;
    const { run, log } = loser(() => (++checks === 1 ? Promise.reject(new Error("no connection")) : "free"));
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "no connection" });
    expect([run.keys, log]).toEqual([["reserve"], lateLoser]);
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });

  test("a step that lost a race ends before the undos of others: it may use what they did", async () => {
    const { run, log } = loser(() => Promise.reject(new NonRetryableError("full")));
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "full", retry: false });
    expect(log).toEqual([...lateLoser, "undone"]);
    expect(run.keys).toEqual(["reserve", "check", "undo()", "undo(reserve)"]);
  });

  test("a step that lost a race ends before a worker that stops releases the run", async () => {
    const { run, log } = loser(() => "free");
    run.host = {
      ...run.host,
      store: async (steps) => {
        run.append(steps);
        if (run.keys.includes("check")) run.controller.abort(new RunAbortedError("shutdown"));
        return [];
      },
    };
    expect(await run.execute()).toEqual({ outcome: "released" });
    expect([run.keys, log]).toEqual([["reserve", "check"], lateLoser]);
  });

  test("a step in progress beside it that does not heed its signal ends with its timeout", async () => {
    const deadlines: Deadline[] = [];
    const deadline: RunHost["deadline"] = (ms, outer, reason) => {
      deadlines.push(new Deadline(ms, outer, reason));
      return deadlines.at(-1) as Deadline;
    };
    const listen = ({ signal }: StepContext) => {
      signal.addEventListener("abort", () => deadlines[0]?.pass());
      return new Promise(() => {});
    };
    const outcome = await beside(listen, { timeout: "1h" }).execute({ deadline });
    expect(outcome).toMatchObject({ outcome: "failed", error: "no connection" });
    expect(outcome).not.toHaveProperty("steps");
  });

  test("each of more than 1,000 steps whose failures are stored is executed again", async () => {
    const [failed, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const run = new MemoryRun(async ({ step }: Context) => {
      const mail = (key: number) =>
        step.run(
          "mail",
          () => {
            if (key === 1_000) setImmediate(failed.resolve);
            if (run.attempt === 1) throw new Error("down");
          },
          { key },
        );
      const all = await Promise.allSettled([
        ...Array.from({ length: 1_001 }, (_, key) => mail(key)),
        step.run("count", () => failed.promise),
        step.run("log", () => stored.promise),
      ]);
      for (const one of all) if (one.status === "rejected") throw one.reason;
    });
    const store: NeededHost["store"] = async (steps) => {
      run.append(steps);
      if (run.keys.includes("count")) stored.resolve();
      return [];
    };
    const outcome = (await run.execute({ store })) as Extract<RunOutcome, { outcome: "failed" }>;
    expect(outcome.retry).toBe(true);
    expect(outcome.retry_steps).toHaveLength(1_001);
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
  });

  const declined = () => Promise.reject(new NonRetryableError("declined"));

  test.for<[string, (context: Context) => unknown, string[] | undefined]>([
    ["the one that nobody caught", ({ step }) => step.run("pay", declined), ["pay"]],
    [
      "what came after it, and not what the workflow caught before",
      async ({ step, run }) => {
        await step.run("card A", declined).catch(() => step.run("card B", () => {}));
        try {
          await step.run("ship", declined);
        } catch (error) {
          run.now();
          await step.run("refund", () => {});
          throw error;
        }
      },
      ["ship", "run.now", "refund"],
    ],
    [
      "the cause of another error",
      async ({ step }) => {
        await step.run("pay", declined).catch((cause) => Promise.reject(new NonRetryableError("Not paid.", { cause })));
      },
      ["pay"],
    ],
    [
      "the last one, if the workflow did nothing after it but throw",
      async ({ step }) => {
        await step.run("pay", declined).catch(() => Promise.reject(new NonRetryableError("Not paid.")));
      },
      ["pay"],
    ],
    [
      "all that failed together, whichever of them the workflow throws",
      async ({ step }) => {
        const settled = await Promise.allSettled([step.run("pay", declined), step.run("book", declined)]);
        for (const { reason } of settled as PromiseRejectedResult[]) throw reason;
      },
      ["pay", "book"],
    ],
    [
      "the errors of an AggregateError, and what failed between them",
      async ({ step, run }) => {
        const errors: unknown[] = [];
        await step.run("first", () => {});
        await step.run("a", declined).catch((error) => void errors.push(error));
        await step.run("caught", declined).catch(() => run.now());
        await step.run("b", declined).catch((error) => void errors.push(error));
        throw new NonRetryableError("None.", { cause: new AggregateError(errors) });
      },
      ["a", "b", "caught", "run.now"],
    ],
    [
      "of the errors of an AggregateError those after the last step that completed",
      async ({ step }) => {
        const errors: unknown[] = [];
        for (const [key, send] of [declined, () => {}, declined, declined].entries())
          await step.run("mail", send, { key, attempts: 1 }).catch((error) => void errors.push(error));
        throw new NonRetryableError("Not all.", { cause: new AggregateError(errors) });
      },
      ["mail[2]", "mail[3]"],
    ],
    [
      "none of the errors of an AggregateError if a step completed after them",
      async ({ step }) => {
        const errors: unknown[] = [];
        for (const [key, send] of [declined, () => {}].entries())
          await step.run("mail", send, { key, attempts: 1 }).catch((error) => void errors.push(error));
        throw new NonRetryableError("Not all.", { cause: new AggregateError(errors) });
      },
      [],
    ],
    [
      "each that failed of those that were requested together, and no other",
      async ({ step }) => {
        const mails = [declined, () => {}, declined].map((send, key) => step.run("mail", send, { key }));
        const errors = (await Promise.allSettled(mails)).flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
        throw new NonRetryableError("Not all.", { cause: new AggregateError(errors) });
      },
      ["mail[0]", "mail[2]"],
    ],
    [
      "none, if the workflow went on",
      async ({ step }) => {
        await step.run("pay", declined).catch(() => {});
        await step.run("next", () => {});
        throw new NonRetryableError("No.");
      },
      [],
    ],
  ])("a retry of the run executes again %s", async ([, program, expected]) => {
    const outcome = await new MemoryRun(program).execute();
    expect(outcome).toMatchObject({ outcome: "failed", retry: false });
    expect((outcome as { retry_steps?: string[] }).retry_steps).toEqual(expected);
  });

  test("with attempts of its own a step is tried so often within the execution, and its failure fails the run for good", async () => {
    const attempts: number[] = [];
    const waits: number[] = [];
    const program = ({ step }: Context) =>
      step.run(
        "load",
        ({ attempt }) => {
          attempts.push(attempt);
          throw new Error("no connection");
        },
        { attempts: 3, backoff: { delay: "1s" } },
      );
    const run = new MemoryRun(program);
    expect(await run.execute({ wait: async (ms) => void waits.push(ms) })).toMatchObject({
      outcome: "failed",
      error: "no connection",
      error_name: "Error",
      retry: false,
      steps: [{ key: "load", status: "failed" }],
    });
    expect(attempts).toEqual([1, 2, 3]);
    expect(waits.map((ms) => Math.floor(Math.log2(ms / 1_000)))).toEqual([0, 1]);
    expect(run.journal).toMatchObject([{ key: "load", status: "failed", attempt: 3 }]);
    expect(await run.execute()).toMatchObject({ outcome: "failed", retry: false });
    expect(attempts).toHaveLength(3);
  });

  test("a NonRetryableError in a step uses no further attempt, and fails the run for good", async () => {
    let executed = 0;
    const run = new MemoryRun(({ step }: Context) =>
      step.run(
        "pay",
        () => {
          executed += 1;
          throw new NonRetryableError("bad card");
        },
        { attempts: 5 },
      ),
    );
    const failed = { outcome: "failed", error: "bad card", error_name: "NonRetryableError", retry: false };
    expect(await run.execute()).toMatchObject(failed);
    expect(await run.execute()).toMatchObject(failed);
    expect(executed).toBe(1);
  });

  test("a RetryAfterError says when the run's next attempt, or the step's, may come", async () => {
    const busy = () => Promise.reject(new RetryAfterError("busy", { seconds: 600 }));
    expect(await new MemoryRun(({ step }: Context) => step.run("load", busy)).execute()).toMatchObject({
      outcome: "failed",
      retry_in: 600,
    });
    const waits: number[] = [];
    await new MemoryRun(({ step }: Context) => step.run("load", busy, { attempts: 2 })).execute({
      wait: async (ms) => void waits.push(ms),
    });
    expect(waits).toEqual([600_000]);
  });

  test.for<[string, () => Error, object]>([
    ["a NonRetryableError", () => new NonRetryableError("declined"), { retry: false }],
    ["a RetryAfterError", () => new RetryAfterError("busy", "1h"), { retry_in: 3_600 }],
    ["any other error", () => new Error("no connection"), {}],
  ])("%s of a step says the same as the cause of another error", async ([, make, retry]) => {
    const wrapping = (wrap: (cause: unknown) => unknown) =>
      new MemoryRun(({ step }: Context) =>
        step.run("pay", () => Promise.reject(make())).catch((cause) => Promise.reject(wrap(new Error("Not paid.", { cause })))),
      ).execute();
    const [wrapped, soon, all] = [
      await wrapping((cause) => cause),
      await wrapping((cause) => Object.assign(new RetryAfterError("Not paid.", "1s"), { cause })),
      await wrapping((cause) => new AggregateError([cause], "Not paid.")),
    ];
    const { error: _, error_name: __, steps: ___, retry_steps: ____, ...said } = wrapped as Extract<RunOutcome, { outcome: "failed" }>;
    expect(said).toEqual({ outcome: "failed", ...retry });
    expect(soon).toMatchObject({ retry_in: 1 });
    expect(all).not.toHaveProperty("retry");
  });

  test("a failure of an earlier execution says nothing as the cause of another error", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      step
        .run("pay", () => Promise.reject(new Error("no connection")), { attempts: 1 })
        .catch((cause) => Promise.reject(new Error("Not paid.", { cause }))),
    );
    for (const attempt of [1, 2]) {
      run.attempt = attempt;
      expect(await run.execute()).not.toHaveProperty("retry");
    }
  });

  test.for([
    ["pay", "load"],
    ["load", "pay"],
  ])("a final failure as the cause does not keep one beside it from the next attempt: %s", async (order) => {
    const ends = new Map(order.map((name) => [name, Promise.withResolvers<void>()]));
    const errors: Record<string, Error> = { pay: new NonRetryableError("declined"), load: new Error("no connection") };
    const run = new MemoryRun(async ({ step }: Context) => {
      const [pay] = await Promise.allSettled(
        ["pay", "load"].map((name) => step.run(name, () => ends.get(name)?.promise.then(() => Promise.reject(errors[name])))),
      );
      throw new Error("Not paid.", { cause: (pay as PromiseRejectedResult).reason });
    });
    const execution = run.execute();
    for (const name of order) {
      for (let n = 0; n < 10; n += 1) await new Promise(setImmediate);
      ends.get(name)?.resolve();
    }
    const outcome = (await execution) as Extract<RunOutcome, { outcome: "failed" }>;
    expect(outcome).toMatchObject({ outcome: "failed", error: "Not paid. [cause]: declined" });
    expect(outcome.retry).not.toBe(false);
  });

  test("a replay gives the workflow the same message as the execution in which the step failed", async () => {
    const messages: string[] = [];
    const failed = () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }));
    const run = new MemoryRun(async ({ step }: Context) => {
      await step.run("load", failed).catch(({ message }: Error) => messages.push(message));
      await step.sleep("later", "1h");
    });
    await run.execute();
    run.wake();
    await run.execute();
    expect(new Set(messages)).toEqual(new Set(["fetch failed [cause]: connect ECONNREFUSED"]));
    expect(run.journal[0]).toMatchObject({ error: { name: "TypeError", message: messages[0] } });
  });

  test("a RetryAfterError takes what other durations take, and nothing else", () => {
    expect(new RetryAfterError("busy", "1h").seconds).toBe(3_600);
    expect(new RetryAfterError("busy", 1_500).seconds).toBe(1.5);
    expect(() => new RetryAfterError("busy", "soon" as never)).toThrow('after must be a number of milliseconds, or a string such as "90s"');
    for (const after of [undefined, null, {}])
      expect(() => new RetryAfterError("busy", after as never)).toThrow("A RetryAfterError needs a time: { seconds: 90 }");
  });

  test("an attempt that takes longer than its timeout fails, and its signal is aborted", async () => {
    let reason: unknown;
    const run = new MemoryRun(({ step }: Context) =>
      step.run("slow", ({ signal }) => new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason))), {
        timeout: 1,
      }),
    );
    expect(await run.execute()).toMatchObject({ error_name: "StepTimeoutError", error: 'Step "slow" took longer than 1 ms.' });
    expect(reason).toMatchObject({ name: "StepTimeoutError" });
  });

  test("an attempt that returns when its time is over has failed all the same", async () => {
    const run = new MemoryRun(({ step }: Context) =>
      step.run("slow", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"))), { timeout: 1 }),
    );
    expect(await run.execute()).toMatchObject({ error_name: "StepTimeoutError" });
  });

  test("an option that is wrong, and something thrown that has no text, fail the step", async () => {
    const failing = (program: (context: Context) => unknown) => new MemoryRun(program).execute();
    expect(await failing(({ step }) => step.run("a", () => 1, { attempts: Number.NaN }))).toMatchObject({
      outcome: "failed",
      error_name: "InvalidStepError",
      error: 'Step "a": attempts must be a whole number from 1 on, not NaN.',
      retry: false,
    });
    for (const until of [null, undefined, "tomorrow", new Date(Number.NaN)])
      expect(await failing(({ step }) => step.sleepUntil("a", until as never))).toMatchObject({
        error_name: "InvalidStepError",
        error: expect.stringContaining('Step "a": until must be a Date, or a string such as'),
      });
    expect(await failing(({ step }) => step.run("a", () => 1, { timeout: "soon" as never }))).toMatchObject({
      error: expect.stringContaining('Step "a": timeout must be a number of milliseconds, or a string such as'),
    });
    expect(await failing(({ step }) => step.run("a", () => Promise.reject(Object.create(null))))).toMatchObject({
      error: "Something without a text was thrown.",
    });
  });

  test.for<[string, (step: Context["step"]) => Promise<unknown>]>([
    ["The options of a step", (step) => step.run("a", () => 1, null as never)],
    ["The options of a step", (step) => step.sleep("a", "1s", null as never)],
    ["The options of a step", (step) => step.http("a", { url: "https://example.com" }, null as never)],
    ["The options of a step", (step) => step.invoke("a", { workflow: "b", timeout: "1h" }, null as never)],
    ["The event", (step) => step.sendEvent("a", null as never)],
    ["The signal", (step) => step.signal("a", null as never)],
    ["The signal", (step) => step.waitForSignal("a", null as never)],
    ["The invocation", (step) => step.invoke("a", null as never)],
  ])("null in place of an object fails the step: %s %s", async ([what, ask]) => {
    const failed = { outcome: "failed", error_name: "InvalidStepError", error: `Step "a": ${what} must be an object, not null.` };
    expect(await new MemoryRun(({ step }: Context) => ask(step)).execute()).toMatchObject({ ...failed, retry: false });
  });

  test("what the workflow itself throws fails the attempt; a NonRetryableError the run", async () => {
    const failing = (error: unknown) =>
      new MemoryRun(() => {
        throw error;
      }).execute();
    expect(await failing(new TypeError("oops"))).toEqual({ outcome: "failed", error: "oops", error_name: "TypeError", retry_steps: [] });
    expect(await failing("text")).toEqual({ outcome: "failed", error: "text", error_name: "Error", retry_steps: [] });
    expect(await failing(new NonRetryableError("never"))).toMatchObject({ retry: false });
  });
});
