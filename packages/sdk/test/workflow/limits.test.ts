import { NonRetryableError, type WorkflowContext, workflow } from "@tidemill/sdk";
import { type TestSettings, testWorkflow, timesOut } from "@tidemill/sdk/testing";
import { describe, expect, test, vi } from "vitest";
import { MemoryRun } from "./memory-journal.ts";

type Context = WorkflowContext<unknown>;

const MEBIBYTE = 1024 * 1024;
const nested = (levels: number): unknown => (levels === 0 ? null : [nested(levels - 1)]);

/** Runs a workflow in memory. Returns its error; null if it has completed. */
async function errorOf(program: (context: Context) => unknown, settings: TestSettings = {}): Promise<string | null> {
  const { error } = await testWorkflow(workflow({ id: "tested" }, program), settings);
  return error && `${error.name}: ${error.message}`;
}

describe("what the service would refuse fails with the step, the field and the limit", () => {
  test.for<[string, (context: Context) => unknown, string]>([
    ["a name that is no text", ({ step }) => step.run(5 as never, () => 1), "A step's name must be a string, not 5."],
    ["a call without a request", ({ step }) => step.http("h", undefined as never), "step.http takes a name and a request: { url }."],
    [
      "an output that is too large",
      ({ step }) => step.run("big", () => "x".repeat(MEBIBYTE - 1)),
      'NonRetryableError: The result of step "big" has 1048577 bytes of JSON; the limit is 1048576 bytes (1 MiB).',
    ],
    [
      "an output whose characters have several bytes",
      ({ step }) => step.run("big", () => "é".repeat(MEBIBYTE / 2)),
      'The result of step "big" has 1048578 bytes of JSON',
    ],
    [
      "an output with a BigInt",
      ({ step }) => step.run("load", () => ({ user: { id: 1n } })),
      'NonRetryableError: The result of step "load" has no JSON: user.id is a BigInt.',
    ],
    [
      "an output that contains itself",
      ({ step }) =>
        step.run("load", () => {
          const [one, other]: Record<string, unknown>[] = [{}, {}] as const;
          return { list: [Object.assign(one, { other: Object.assign(other, { one }) })] };
        }),
      'The result of step "load" has no JSON: list[0].other.one is a circular reference.',
    ],
    [
      "an output that is nested too deep",
      ({ step }) => step.run("deep", () => nested(65)),
      'The result of step "deep" is nested deeper than 64',
    ],
    [
      "a result that is too large",
      () => "x".repeat(MEBIBYTE),
      "The result of the workflow has 1048578 bytes of JSON; the limit is 1048576",
    ],
    [
      "an event that is too large",
      ({ step }) => step.sendEvent("tell", { name: "a", data: "x".repeat(MEBIBYTE) }),
      'The data of step "tell" has 1048578 bytes of JSON',
    ],
    [
      "a sleep of more than a year",
      ({ step }) => step.sleep("nap", "800d"),
      'InvalidStepError: Step "nap": duration must be at most 365 days, not "800d".',
    ],
    [
      "a wait of more than a year",
      ({ step }) => step.waitForSignal("approval", { signal: "s", timeout: "366d" }),
      'Step "approval": timeout must be at most 365 days, not "366d".',
    ],
    [
      "a sleep of NaN",
      ({ step }) => step.sleep("nap", Number.NaN),
      'Step "nap": duration must be a number of milliseconds, or a string such as',
    ],
    ["a sleep of NaN, as it was given", ({ step }) => step.sleep("nap", Number.NaN), '"24h" or "7d", not NaN.'],
    ["an endless sleep", ({ step }) => step.sleep("nap", Number.POSITIVE_INFINITY), "not Infinity."],
    ["a sleep that ends before it begins", ({ step }) => step.sleep("nap", -5), "not -5."],
    ["a sleep of a BigInt", ({ step }) => step.sleep("nap", 10n as never), "not 10n."],
    [
      "a sleep until an invalid Date",
      ({ step }) => step.sleepUntil("nap", new Date(Number.NaN)),
      'Step "nap": until must be a Date, or a string such as "2026-11-23T09:30:00Z", not an invalid Date.',
    ],
    [
      "a wait of NaN",
      ({ step }) => step.waitForSignal("approval", { signal: "s", timeout: Number.NaN }),
      'Step "approval": timeout must be a number of milliseconds, or a string such as "90s", "24h" or "7d", not NaN.',
    ],
    [
      "a call whose timeout is none",
      ({ step }) => step.http("call", { url: "https://example.com", timeout: Number.NaN }),
      'Step "call": timeout must be a number of milliseconds, or a string such as "90s", "24h" or "7d", not NaN.',
    ],
    [
      "a backoff that is none",
      ({ step }) => step.run("a", () => 1, { backoff: { delay: Number.NaN } }),
      'Step "a": backoff.delay must be a number of milliseconds, or a string such as "90s", "24h" or "7d", not NaN.',
    ],
    [
      "a backoff without its delay",
      ({ step }) => step.http("call", { url: "https://example.com", backoff: "1s" as never }),
      'Step "call": The options of backoff must be an object, not string.',
    ],
    [
      "attempts that are a text",
      ({ step }) => step.run("a", () => 1, { attempts: "3" as never }),
      'Step "a": attempts must be a whole number from 1 on, not "3".',
    ],
    [
      "a sleep until a moment that cannot be written",
      ({ step }) => step.sleepUntil("nap", new Date(8.64e15)),
      'Step "nap": until must be before the year 10000, not +275760-09-13T00:00:00.000Z.',
    ],
    [
      "an option that there is not",
      ({ step }) => step.run("a", () => 1, { atempts: 3 } as never),
      'Step "a": atempts is not an option of step.run. Did you mean attempts?',
    ],
    [
      "an option that a sleep does not have",
      ({ step }) => step.sleep("nap", "1h", { keys: "a" } as never),
      'Step "nap": The last argument of step.sleep has only key, not keys. Did you mean key?',
    ],
    [
      "an option that a sleep until a moment does not have",
      ({ step }) => step.sleepUntil("nap", new Date(0), { attempts: 3 } as never),
      'Step "nap": The last argument of step.sleepUntil has only key, not attempts.',
    ],
    [
      "a timeout that is no part of the signal",
      ({ step }) => step.waitForSignal("approval", { signal: "s" } as never, { timeout: "1h" } as never),
      'Step "approval": The last argument of step.waitForSignal has only key, not timeout.',
    ],
    [
      "attempts that are no part of the request",
      ({ step }) => step.http("call", { url: "https://example.com" }, { attempts: 3 } as never),
      'Step "call": The last argument of step.http has only key, not attempts.',
    ],
    [
      "a part that an awaited signal does not have",
      ({ step }) => step.waitForSignal("approval", { signal: "s", timout: "1h" } as never),
      'Step "approval": timout is not an option of step.waitForSignal. Did you mean timeout?',
    ],
    [
      "a part that a signal does not have",
      ({ step }) => step.signal("ask", { signal: "s", timeout: "1h" } as never),
      'Step "ask": timeout is not an option of step.signal.',
    ],
    [
      "a part that an event does not have",
      ({ step }) => step.sendEvent("tell", { name: "a", idempotencyKey: "k" } as never),
      'Step "tell": idempotencyKey is not an option of step.sendEvent.',
    ],
    [
      "a part that an invocation does not have",
      ({ step }) => step.invoke("bill", { workflow: "billing", inputs: 1, timeout: "1h" } as never),
      'Step "bill": inputs is not an option of step.invoke. Did you mean input?',
    ],
    [
      "a race of nothing",
      ({ step }) => step.race(null as never),
      "NonRetryableError: step.race needs an object of steps, such as { paid: step.waitForSignal(…), late: step.sleep(…) }, not null.",
    ],
    ["a race without steps", ({ step }) => step.race({}), "step.race needs at least one step: a race of none never ends."],
    [
      "a race of what a step has returned",
      ({ step }) => step.race({ late: step.sleep("late", "1h"), paid: 7 as never }),
      "NonRetryableError: step.race needs steps, but paid is 7. Pass what a step returns, without await.",
    ],
    [
      "a signal with NUL",
      ({ step }) => step.signal("ask", { signal: "a\0" }),
      'Step "ask": The id of a signal must be 1 to 256 characters other than "." and "..", without NUL or lone surrogates, not "a\\u0000".',
    ],
    [
      "a step without a function",
      ({ step }) => step.run("a", undefined as never),
      'Step "a": step.run needs the function of the step, not undefined.',
    ],
    [
      "a key that is an object",
      ({ step }) => step.run("a", () => 1, { key: {} as never }),
      'NonRetryableError: The key of step "a" must be a string or a number, not object.',
    ],
    ["a step with a lone surrogate", ({ step }) => step.run("\ud800", () => 1), "without NUL or lone surrogates, not"],
  ])("%s", async ([, program, says]) => {
    expect(await errorOf(program)).toContain(says);
  });

  test("what is as large, deep and long as it may be is taken", async () => {
    const large = async ({ step }: Context) => {
      await step.run("big", () => "x".repeat(MEBIBYTE - 2));
      await step.run("deep", () => nested(64));
      await step.sleep("nap", "365d");
      return "x".repeat(MEBIBYTE - 2);
    };
    expect(await errorOf(large)).toBeNull();
  });

  test("a workflow may catch it, and it is remembered", async () => {
    const careful = ({ step }: Context) => step.run("big", () => "x".repeat(MEBIBYTE)).catch(() => "too large");
    const { result } = await testWorkflow(workflow({ id: "tested" }, careful), { crash: "afterEveryStep" });
    expect(result).toBe("too large");
  });
});

describe("a journal that has no room for another step fails the run for good", () => {
  const repeat = async (count: number, one: () => Promise<unknown>) => {
    for (let n = 0; n < count; n += 1) await one();
  };
  const noRoomFor = (key: string, more = "") => ({
    name: "JournalTooLargeError",
    message: `There is no room for step "${key}"${more}: the journal of a run has at most 10000 steps, whose outputs and errors are 33554432 bytes together.`,
  });
  const steps = (count: number) => (context: Context) => repeat(count, () => context.step.run("a", () => 1).catch(() => null));
  const full = steps(10_000);

  test("10,000 steps are taken", async () => {
    expect(await errorOf(full)).toBeNull();
  });

  test.for<[string, (context: Context) => unknown, ReturnType<typeof noRoomFor>]>([
    ["the last one of the run", steps(10_001), noRoomFor("a:10001")],
    ["one that others follow", steps(10_003), noRoomFor("a:10001")],
    [
      "several at the same time",
      ({ step }) => Promise.all(Array.from({ length: 10_001 }, (_, key) => step.run("a", () => 1, { key }))),
      noRoomFor("a[10000]"),
    ],
    [
      "an event, which is not sent",
      async (context) => {
        await full(context);
        await context.step.sendEvent("tell", { name: "told", data: 1 }).catch(() => {});
      },
      noRoomFor("tell"),
    ],
    [
      "a sleep",
      async (context) => {
        await full(context);
        await context.step.sleep("nap", "1h");
      },
      noRoomFor("a:10000", " and 1 more"),
    ],
    ["outputs of more than 32 MiB", ({ step }) => repeat(40, () => step.run("big", () => "x".repeat(MEBIBYTE - 2))), noRoomFor("big:33")],
  ])("%s", async ([, program, error]) => {
    const run = await testWorkflow(workflow({ id: "tested" }, program), {});
    expect(run).toMatchObject({ status: "failed", attempt: 1, error, events: [] });
  });

  test("what a step has waited for fails the step, which a workflow may catch", async () => {
    const program = async ({ step }: Context) => {
      await repeat(32, () => step.run("big", () => "x".repeat(MEBIBYTE - 2)));
      const error = await step.waitForSignal("ask", { signal: "s", timeout: "1h" }).catch((thrown: Error) => thrown);
      return `${(error as Error).name}: ${(error as Error).message}`;
    };
    const { name, message } = noRoomFor("ask");
    const run = await testWorkflow(workflow({ id: "tested" }, program), { signals: { s: 1 } });
    expect(run).toMatchObject({ status: "completed", result: `${name}: ${message}` });
  });

  test("a wait that nobody answers times out, however full the journal is, and so does an invoked run", async () => {
    const program = async ({ step }: Context) => {
      await repeat(32, () => step.run("big", () => "x".repeat(MEBIBYTE - 2)));
      const nameOf = (error: Error) => error.name;
      const asked = await step.waitForSignal("ask", { signal: "s", timeout: "1h" }).catch(nameOf);
      return [asked, await step.invoke("call", { workflow: "child", timeout: "1h" }).catch(nameOf)];
    };
    const run = await testWorkflow(workflow({ id: "tested" }, program), { signals: { s: timesOut }, invokes: { child: timesOut } });
    expect(run).toMatchObject({ status: "completed", result: ["SignalTimeoutError", "WorkflowTimeoutError"] });
  });

  test("a sleep ends, and a signal that fits is taken after one that does not", async () => {
    const program = async ({ step }: Context) => {
      await repeat(31, () => step.run("big", () => "x".repeat(MEBIBYTE - 2)));
      await step.run("almost", () => "x".repeat(MEBIBYTE - 7));
      await step.sleep("nap", "1h");
      const large = await step.waitForSignal("large", { signal: "large", timeout: "1h" }).catch((error: Error) => error.name);
      return [large, await step.waitForSignal("small", { signal: "small", timeout: "1h" })];
    };
    const run = await testWorkflow(workflow({ id: "tested" }, program), { signals: { large: "123456", small: 1 } });
    expect(run).toMatchObject({ status: "completed", result: ["JournalTooLargeError", 1] });
  });

  test("one that fails for good keeps its own error", async () => {
    const throws = async (context: Context) => {
      await full(context);
      await context.step.run("declined", () => Promise.reject(new NonRetryableError("No.")));
    };
    expect(await errorOf(throws)).toBe("NonRetryableError: No.");
  });

  test.for([
    ["by the program", 10_002],
    ["by another execution, if it was the last one", 10_000],
  ] as const)("its steps are undone, %s", async ([, count]) => {
    const undone: unknown[] = [];
    const program = async (context: Context) => {
      await context.step.run("book", () => "b1", { undo: (booking) => void undone.push(booking) });
      await steps(count)(context);
    };
    const run = await testWorkflow(workflow({ id: "tested" }, program), {});
    expect(run).toMatchObject({ status: "failed", error: { name: "JournalTooLargeError" }, undoErrors: [] });
    expect(undone).toEqual(["b1"]);
  });
});

describe("a run has 100 signals whose waits have not ended", () => {
  const TOO_MANY = {
    name: "TooManySignalsError",
    message: "The run already has 100 signals whose waits have not ended. It may not have more at the same time.",
  };
  const register = ({ step }: Context, count: number) =>
    Promise.all(Array.from({ length: count }, (_, key) => step.signal("ask", { signal: `s${key}` }, { key })));
  const tooMany = (error: unknown) => {
    expect(error).toMatchObject(TOO_MANY);
    return "caught";
  };

  test.for([undefined, "afterEveryStep", "everywhere"] as const)(
    "one more fails its step by the same name, with crashes: %s",
    async (crash) => {
      const program = async (context: Context) => {
        const { step } = context;
        await register(context, 100);
        const caught = [
          await step.signal("more", { signal: "more" }).catch(tooMany),
          await step.waitForSignal("wait", { signal: "more", timeout: "1h" }).catch(tooMany),
        ];
        const answer = await step.waitForSignal("first", { signal: "s0", timeout: "1h" });
        await step.signal("room", { signal: "more" });
        return [...caught, answer];
      };
      const options = { signals: { s0: 5 }, ...(crash && { crash }) };
      expect(await testWorkflow(workflow({ id: "tested" }, program), options)).toMatchObject({
        status: "completed",
        result: ["caught", "caught", 5],
      });
    },
  );

  test("and it fails the run if nobody catches it", async () => {
    const waits = ({ step }: Context) =>
      Promise.all(Array.from({ length: 101 }, (_, key) => step.waitForSignal("ask", { signal: `s${key}`, timeout: "1h" }, { key })));
    expect(await testWorkflow(workflow({ id: "tested" }, waits), {})).toMatchObject({ status: "failed", attempt: 1, error: TOO_MANY });
  });

  test("a wait that times out leaves room", async () => {
    const program = async ({ step }: Context) => {
      for (let at = 0; at < 101; at += 1) await step.waitForSignal("ask", { signal: `s${at}`, timeout: 1 }).catch(() => {});
    };
    const signals = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`s${at}`, timesOut]));
    expect(await errorOf(program, { signals })).toBeNull();
  });
});

describe("a step inside of a step fails the run at once, naming both", () => {
  const REFUSED =
    'NestedStepError: Step "inner" was called inside step "outer". Steps cannot contain steps: call it after step "outer", or do its work in the function of "outer" without a step.';

  test.for<[string, (context: Context) => unknown]>([
    ["at once", ({ step }) => step.run("outer", () => step.run("inner", () => 1))],
    [
      "after something else",
      ({ step }) =>
        step.run("outer", async () => {
          await new Promise(setImmediate);
          return step.run("inner", () => 1);
        }),
    ],
    ["that sleeps", ({ step }) => step.run("outer", () => step.sleep("inner", "1h"))],
    ["whose error is caught", ({ step }) => step.run("outer", () => step.run("inner", () => 1).catch(() => {})).catch(() => {})],
    ["with a timeout", ({ step }) => step.run("outer", () => step.run("inner", () => 1), { timeout: "1h", attempts: 3 })],
  ])("%s, also where each execution crashes", async ([, program]) => {
    expect(await errorOf(program)).toBe(REFUSED);
    const crashed = await testWorkflow(workflow({ id: "tested" }, program), { crash: "afterEveryStep" });
    expect(crashed).toMatchObject({ status: "failed", attempt: 1, steps: [] });
  });

  test("nothing of it is executed or stored", async () => {
    const executed: string[] = [];
    const run = new MemoryRun(({ step }: WorkflowContext<never>) =>
      step.run("outer", () => step.run("inner", () => void executed.push("inner"))),
    );
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "NestedStepError", retry: false });
    expect([executed, run.keys]).toEqual([[], []]);
  });

  test("also when the workflow has thrown meanwhile: the next attempt finds it", async () => {
    const thrown = Promise.withResolvers<void>();
    const run = new MemoryRun(async ({ step, run: { attempt } }: WorkflowContext<never>) => {
      const outer = step.run("outer", async () => {
        if (attempt === 1) await thrown.promise;
        return step.run("inner", () => 1);
      });
      await step.run("beside", () => {});
      if (attempt > 1) return outer;
      setImmediate(thrown.resolve);
      throw new Error("It fails.");
    });
    expect(await run.execute()).toMatchObject({ outcome: "failed", error: "It fails." });
    run.attempt = 2;
    expect(await run.execute()).toMatchObject({ outcome: "failed", error_name: "NestedStepError", retry: false });
  });

  test("nor may it ask for the time or an id, which a replay would not come to", async () => {
    expect(await errorOf(({ step, run }) => step.run("outer", () => run.now()))).toContain('"run.now" was called inside step "outer"');
  });

  test("a step may run another workflow, and steps may follow from what a step has done", async () => {
    const inner = workflow({ id: "inner" }, ({ step }) => step.run("inner", () => 1));
    const outer = async ({ step }: Context) => {
      const opened = Promise.withResolvers<void>();
      const first = step.run("outer", async () => {
        opened.resolve();
        return (await testWorkflow(inner, {})).result;
      });
      await opened.promise;
      return [await step.run("beside", () => 2), await first];
    };
    expect((await testWorkflow(workflow({ id: "tested" }, outer), {})).result).toEqual([2, 1]);
  });

  test("is seen before the first await where the runtime has no AsyncLocalStorage", async ({ onTestFinished }) => {
    const getBuiltinModule = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    onTestFinished(() => getBuiltinModule.mockRestore());
    vi.resetModules();
    const { insideStep, stepAround } = await import("../../src/workflow/inside-step.ts");
    const host = {};
    expect(insideStep(host, "outer", () => [stepAround(host), stepAround({})])).toEqual(["outer", undefined]);
    expect(() => insideStep(host, "outer", () => expect.fail("Thrown."))).toThrow("Thrown.");
    expect(stepAround(host)).toBeUndefined();
  });
});
