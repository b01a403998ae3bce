import { cron, event, HttpError, json, NonRetryableError, type Tidemill, type WorkflowContext, workflow } from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { FaultyProxy } from "../harness/faulty-proxy.ts";
import { test, untilStatus } from "../harness/workflow-workers.ts";

const quiet = () => {};

/** Starts a run, once a worker has registered its workflow. */
async function trigger(client: Tidemill, id: string, input: unknown): Promise<string> {
  await until(() => client.workflows.get(id).then(Boolean, () => false), `workflow ${id} to be registered`);
  const [runId = ""] = (await client.workflows.trigger(id, { input })).runIds;
  return runId;
}

test("an event of a step starts the workflow that listens to it, once, and the client sends one with a type", async ({
  client,
  worker,
}) => {
  const done = event<{ id: string }>("user.onboarded");
  const created = event<{ userId: string }>("user.created");
  const onboard = workflow({ id: "onboard", on: created }, async ({ input, step }) => {
    const { runIds } = await step.sendEvent("tell", { name: done, data: { id: input.userId } });
    return runIds;
  });
  const report = workflow({ id: "report", on: [done] }, ({ input }) => input.id);
  worker([onboard, report]);
  await until(() => client.workflows.get("report").then(Boolean, () => false), "the workflows to be registered");
  const { runIds } = await client.events.send(created, { userId: "u1" });
  const [runId = ""] = runIds;
  await untilStatus(client, runId, "completed");
  const [child = ""] = (await client.runs.get(runId)).result as string[];
  await untilStatus(client, child, "completed");
  expect(await client.runs.get(child)).toMatchObject({
    workflowId: "report",
    result: "u1",
    trigger: { type: "event", name: "user.onboarded" },
  });
});

test("a worker that takes a workflow from its endpoint warns of it, once", async ({ client, worker }) => {
  const onboard = workflow({ id: "onboard" }, () => null);
  await client.workflows.put("onboard", { endpoint_url: "http://127.0.0.1:9/" });
  const warnings: unknown[] = [];
  const logger = { debug: quiet, info: quiet, error: quiet, warn: (...warning: unknown[]) => void warnings.push(warning) };
  const isWorking = (name: string) => async () => (await client.workers.list()).data.some((one) => one.name === name);
  for (const name of ["w1", "w2"]) {
    worker([onboard], { logger, name });
    await until(isWorking(name), `${name} to ask for work`);
  }
  expect(warnings).toEqual([[expect.stringContaining("The workflow had an endpoint"), { worker: "w1", workflow: "onboard" }]]);
});

test.for([
  { status: 200, body: "null" },
  { status: 200, body: "" },
  { status: 200, body: "{}" },
  { status: 204 },
  { status: 200, body: "<h1>Sign in</h1>" },
  { status: 302, headers: { location: "/sign-in" } },
  { status: 404, body: "<h1>Not found</h1>" },
  { status: 404, body: '{"error":{"code":"ResourceNotFound","message":"The resource was not found."}}' },
])(
  "what a proxy responds in place of the service stores no step, and refuses none: %j",
  async (fault, { service, client, worker, onTestFinished }) => {
    const proxy = await FaultyProxy.to(service.node.url);
    onTestFinished(() => proxy.close());
    const faulty = new Set<string>();
    // The first call of each kind does not reach the service.
    proxy.faultOf = ({ path }) => {
      const [, kind] = /^\/v1\/runs\/.*\/(\w+)$/.exec(path) ?? [];
      if (kind === undefined || faulty.has(kind)) return null;
      faulty.add(kind);
      return fault;
    };
    const executed: string[] = [];
    const told = event<{ id: string }>("told");
    const run = workflow({ id: "behind.proxy" }, async ({ step }) => {
      await step.run("one", () => void executed.push("one"));
      await step.sendEvent("tell", { name: told, data: { id: "u1" } });
      await step.signal("ask", { signal: "behind.a.proxy" });
      await step.run("two", () => void executed.push("two"));
      return "done";
    });
    worker([run], { url: proxy.url });
    const runId = await trigger(client, "behind.proxy", null);
    await untilStatus(client, runId, "completed");
    const { attempt, steps } = await client.runs.get(runId);
    expect([attempt, steps.map(({ key }) => key)]).toEqual([1, ["one", "tell", "ask", "two"]]);
    expect([executed, [...faulty]]).toEqual([
      ["one", "two"],
      ["steps", "events", "signals"],
    ]);
  },
);

test("a cron schedule starts runs, and is registered beside events", async ({ service, client, worker }) => {
  const both = workflow(
    { id: "both", on: [event<{ userId: string }>("user.created"), cron("0 * * * *", { timezone: "UTC" })] },
    ({ input }) => input?.userId ?? "by the clock",
  );
  worker([both]);
  await until(() => client.workflows.get("both").then(Boolean, () => false), "the workflow to be registered");
  expect(await client.workflows.get("both")).toMatchObject({ events: ["user.created"], cron: "0 * * * *", timezone: "UTC" });
  await service.advance(3_600);
  const completed = async () => (await client.runs.list({ workflowId: "both", status: "completed" })).data;
  await until(async () => (await completed()).length > 0, "the run of the tick to complete");
  const [run] = await completed();
  expect(run?.trigger).toEqual({ type: "schedule", scheduledFor: expect.stringMatching(/:00:00.000Z$/) });
  expect((await client.runs.get(run?.runId ?? "")).result).toBe("by the clock");
});

test("a failed run that is retried goes on behind the steps that completed", async ({ client, worker }) => {
  const executed: string[] = [];
  // The worker may execute the run again before the response to the retry is made.
  const retried = Promise.withResolvers<void>();
  const charge = workflow({ id: "charge", attempts: 1 }, async ({ step }) => {
    await step.run("load", () => void executed.push("load"));
    await step.run("charge", async () => {
      executed.push("charge");
      if (executed.length === 2) throw new NonRetryableError("Declined.");
      await retried.promise;
    });
    return "charged";
  });
  worker([charge]);
  const runId = await trigger(client, "charge", null);
  await untilStatus(client, runId, "failed");
  const response = await client.runs.retry(runId);
  retried.resolve();
  expect(response).toMatchObject({ status: "running", steps: [{ key: "load" }] });
  await untilStatus(client, runId, "completed");
  expect(executed).toEqual(["load", "charge", "charge"]);
});

test("a failed step is executed again in the next attempt, though another one has ended before the workflow throws", async ({
  service,
  client,
  worker,
}) => {
  let executed = 0;
  const [failed, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const both = workflow({ id: "both", backoff: { delay: 1 } }, async ({ step, run }) => {
    const flaky = step.run("flaky", () => (++executed === 1 ? Promise.reject(new Error("no connection")) : "loaded"));
    flaky.catch(() => failed.resolve());
    const quick = step.run("quick", () => failed.promise.then(() => "quick"));
    const slow = step.run("slow", () => ended.promise);
    const settled = await Promise.allSettled([flaky, quick, slow]);
    for (const one of settled) if (one.status === "rejected") throw one.reason;
    return run.attempt;
  });
  worker([both]);
  const runId = await trigger(client, "both", null);
  await until(async () => (await client.runs.get(runId)).steps.length === 2, "the failure and the step after it to be stored");
  ended.resolve();
  await until(async () => (await client.runs.get(runId)).nextAttemptAt !== null, "the attempt to fail");
  await service.advance(30);
  await untilStatus(client, runId, "completed");
  const { result, steps } = await client.runs.get(runId);
  expect(result).toBe(2);
  expect(steps.map(({ key, status }) => `${key} ${status}`)).toEqual(["quick completed", "slow completed", "flaky completed"]);
});

test("hooks fire when runs end, and what they throw is recorded with the run", async ({ client, worker }) => {
  const calls: unknown[] = [];
  const hooked = workflow(
    {
      id: "hooked",
      attempts: 1,
      onSuccess: (end) => void calls.push(end),
      onFailure: () => Promise.reject(new Error("No mail today.")),
    },
    ({ input }: WorkflowContext<{ fails: boolean }>) => {
      if (input.fails) throw new RangeError("It broke.");
      return { ok: true };
    },
  );
  worker([hooked]);
  const good = await trigger(client, "hooked", { fails: false });
  await until(() => calls.length > 0, "onSuccess to fire");
  expect(calls).toEqual([{ runId: good, functionId: "hooked", attempt: 1, result: { ok: true } }]);
  const bad = await trigger(client, "hooked", { fails: true });
  await until(async () => (await client.runs.get(bad)).hookErrors.length > 0, "the error of onFailure to be recorded");
  expect(await client.runs.get(bad)).toMatchObject({ status: "failed", hookErrors: [{ hook: "onFailure", message: "No mail today." }] });
});

test("a hook that has begun does not fire again when its worker stops", async ({ client, worker }) => {
  const fired: string[] = [];
  const onSuccess = ({ runId }: { runId: string }) => {
    fired.push(runId);
    return new Promise(() => {});
  };
  const hooked = workflow({ id: "hooked", onSuccess }, () => 1);
  const stopped = worker([hooked], { stopTimeoutMs: 4_000 });
  const runId = await trigger(client, "hooked", null);
  await until(() => fired.length > 0, "onSuccess to fire");
  await stopped.stop();
  expect((await client.runs.get(runId)).hookErrors).toMatchObject([{ message: "The worker stopped before the hook ended." }]);
  worker([hooked], { stopTimeoutMs: 0 });
  const next = await trigger(client, "hooked", null);
  await until(() => fired.includes(next), "the hook of the next run to fire");
  expect(fired).toEqual([runId, next]);
});

describe("a worker executes runs of the service", () => {
  test("with steps, a sleep and steps in parallel", async ({ service, client, worker }) => {
    const executed: string[] = [];
    const work = (name: string, result: unknown) => () => {
      executed.push(name);
      return result;
    };
    const onboard = workflow({ id: "onboard", attempts: 2 }, async ({ input, step }: WorkflowContext<{ userId: string }>) => {
      const user = await step.run("load user", work("load user", { id: input.userId, name: "Ada" }));
      await step.run("welcome", work("welcome", null));
      await step.sleep("a day", "24h");
      const [plan, quota] = await Promise.all([step.run("plan", work("plan", "free")), step.run("quota", work("quota", 10))]);
      return { user, plan, quota };
    });
    worker([onboard]);
    const runId = await trigger(client, "onboard", { userId: "u1" });
    await untilStatus(client, runId, "sleeping");
    expect(executed).toEqual(["load user", "welcome"]);

    await service.advance(86_400);
    await untilStatus(client, runId, "completed");
    const run = await client.runs.get(runId);
    expect(run).toMatchObject({ attempt: 1, attempts: 2, result: { user: { id: "u1", name: "Ada" }, plan: "free", quota: 10 } });
    expect(run.steps.slice(0, 3)).toMatchObject([
      { key: "load user", type: "run", status: "completed", output: { id: "u1", name: "Ada" } },
      { key: "welcome", type: "run", status: "completed", output: null },
      { key: "a day", type: "sleep", status: "completed" },
    ]);
    expect(run.steps.slice(3).map(({ key, output }) => [key, output])).toEqual(
      expect.arrayContaining([
        ["plan", "free"],
        ["quota", 10],
      ]),
    );
    expect(executed.toSorted()).toEqual(["load user", "plan", "quota", "welcome"]);
  });

  test("that another worker began, and executes each step once", async ({ client, worker }) => {
    const executed: string[] = [];
    const reached = Promise.withResolvers<void>();
    const program = async ({ step }: WorkflowContext<unknown>) => {
      const by = await step.run("first", () => executed.push("first"));
      const second = await step.run("second", ({ signal }) => {
        executed.push("second");
        reached.resolve();
        return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("done at the stop")));
      });
      await step.run("third", () => executed.push("third"));
      return [by, second];
    };
    const first = worker([workflow({ id: "moved" }, program)], { name: "first", stopTimeoutMs: 4_000 });
    const runId = await trigger(client, "moved", null);
    await reached.promise;
    await first.stop();
    expect(executed).toEqual(["first", "second"]);

    worker([workflow({ id: "moved" }, program)], { name: "second" });
    await untilStatus(client, runId, "completed");
    expect(await client.runs.get(runId)).toMatchObject({
      attempt: 1,
      result: [1, "done at the stop"],
      steps: [{ key: "first" }, { key: "second" }, { key: "third" }],
    });
    expect(executed).toEqual(["first", "second", "third"]);
  });

  test("and stores what a step has returned before the run is released at a stop, however long that takes", async ({
    service,
    client,
    worker,
    onTestFinished,
  }) => {
    const proxy = await FaultyProxy.to(service.node.url);
    onTestFinished(() => proxy.close());
    const [begun, othersReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    proxy.onRequest = ({ path }) => (path.endsWith("/steps") ? othersReleased.promise : undefined);
    const stuck = (isFirst: boolean) =>
      workflow({ id: "stuck" }, ({ step }) => step.run("stuck", () => (isFirst ? new Promise(quiet) : "free")));
    const executed: string[] = [];
    const slow = workflow({ id: "slow" }, ({ step }) =>
      step.run("slow", ({ signal }) => {
        executed.push("slow");
        begun.resolve();
        return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("done at the stop")));
      }),
    );
    // It has no room for a third run, so that no call of it waits for one.
    const first = worker([stuck(true), slow], { name: "first", url: proxy.url, concurrency: 2, stopTimeoutMs: 4_000 });
    const stuckId = await trigger(client, "stuck", null);
    await untilStatus(client, stuckId, "running");
    const slowId = await trigger(client, "slow", null);
    await begun.promise;
    const stopped = first.stop();
    worker([stuck(false)], { name: "second" });
    await untilStatus(client, stuckId, "completed");
    othersReleased.resolve();
    await stopped;
    worker([slow], { name: "third" });
    await untilStatus(client, slowId, "completed");
    expect(await client.runs.get(slowId)).toMatchObject({ attempt: 1, result: "done at the stop" });
    expect(executed).toEqual(["slow"]);
  });

  test("and gives a run back whose step does not end when the worker stops", async ({ client, worker }) => {
    const reached = Promise.withResolvers<void>();
    let executions = 0;
    const program = async ({ step }: WorkflowContext<unknown>) => {
      await step.run("once", () => null);
      return step.run("stuck", () => {
        executions += 1;
        reached.resolve();
        return executions === 1 ? new Promise(quiet) : "free";
      });
    };
    const first = worker([workflow({ id: "stuck" }, program)], { name: "first", stopTimeoutMs: 4_000 });
    const runId = await trigger(client, "stuck", null);
    await reached.promise;
    await first.stop();

    worker([workflow({ id: "stuck" }, program)], { name: "second" });
    await untilStatus(client, runId, "completed");
    expect(await client.runs.get(runId)).toMatchObject({ attempt: 1, result: "free" });
  });

  test("and stores values that the workflow used last", async ({ client, worker }) => {
    worker([workflow({ id: "named" }, ({ run }: WorkflowContext<unknown>) => run.uuid())]);
    const runId = await trigger(client, "named", null);
    await untilStatus(client, runId, "completed");
    const { result, steps } = await client.runs.get(runId);
    expect(steps).toMatchObject([{ key: "run.uuid", type: "value", output: result }]);
  });

  test("and suspends a run with more sleeps than one call takes", async ({ service, client, worker }) => {
    const program = async ({ step }: WorkflowContext<unknown>) => {
      await Promise.all(Array.from({ length: 250 }, (_, at) => step.sleep("nap", "1h", { key: at })));
      return "rested";
    };
    worker([workflow({ id: "naps" }, program)]);
    const runId = await trigger(client, "naps", null);
    await untilStatus(client, runId, "sleeping");
    expect((await client.runs.get(runId)).steps).toHaveLength(250);
    await service.advance(3_600);
    await untilStatus(client, runId, "completed");
  });

  test("and stores what is as large and deep as it may be, also with the end of the run", async ({ client, worker }) => {
    const nested = (levels: number): unknown => (levels === 0 ? null : [nested(levels - 1)]);
    const values = ["x".repeat(1024 * 1024 - 2), nested(64), Array.from({ length: 20_000 }, () => 1), JSON.parse('{"__proto__":1}')];
    const program = async ({ step, input }: WorkflowContext<number>) => {
      await step.run("first", () => values[input]);
      return step.run("last", () => values[input]);
    };
    worker([workflow({ id: "values" }, program)]);
    const runIds = await Promise.all(values.map((_, index) => trigger(client, "values", index)));
    const runs = runIds.map(async (runId) => {
      await until(async () => (await client.runs.get(runId)).endedAt !== null, "the run to end");
      return client.runs.get(runId);
    });
    expect(await Promise.all(runs)).toMatchObject(values.map((result) => ({ status: "completed", error: null, result })));
  });

  test.for<[string, (context: WorkflowContext<unknown>) => unknown, object]>([
    [
      "a step inside of a step",
      ({ step }) => step.run("outer", () => step.run("inner", () => 1)),
      { name: "NestedStepError", message: expect.stringContaining('"inner" was called inside step "outer"') },
    ],
    [
      "a sleep of two years",
      ({ step }) => step.sleep("nap", "730d"),
      { name: "InvalidStepError", message: 'Step "nap": duration must be at most 365 days, not "730d".' },
    ],
    [
      "more signals than a run may have",
      ({ step, run }) =>
        Promise.all(
          Array.from({ length: 101 }, (_, at) => step.waitForSignal("ask", { signal: `${run.id}-${at}`, timeout: "1h" }, { key: at })),
        ),
      {
        name: "TooManySignalsError",
        message: "The run already has 100 signals whose waits have not ended. It may not have more at the same time.",
      },
    ],
  ])("and fails a run at once, with an error that says why, for %s", async ([, program, error], { client, worker }) => {
    worker([workflow({ id: "wrong" }, program)]);
    const runId = await trigger(client, "wrong", null);
    await untilStatus(client, runId, "failed");
    expect(await client.runs.get(runId)).toMatchObject({ attempt: 1, error });
  });

  test("and stores sleeps until the first and the last moment that a sleep may have", async ({ client, worker }) => {
    const program = async ({ step }: WorkflowContext<unknown>) => {
      await step.sleepUntil("long ago", new Date(-8.64e15));
      await step.sleepUntil("far ahead", "9999-12-31T23:59:59.999Z");
    };
    worker([workflow({ id: "patient" }, program)]);
    const runId = await trigger(client, "patient", null);
    const waitingFor = async () => (await client.runs.get(runId)).waitingFor;
    await until(async () => (await waitingFor())[0]?.step === "far ahead", "the second sleep to begin");
    expect(await waitingFor()).toEqual([{ type: "sleep", step: "far ahead", until: "9999-12-31T23:59:59.999Z" }]);
    expect(await client.runs.get(runId)).toMatchObject({ status: "sleeping", attempt: 1, error: null });
  });

  test("and a run with a step inside of a step goes on when the code is mended", async ({ client, worker }) => {
    const nested = ({ step }: WorkflowContext<unknown>) => step.run("outer", () => step.run("inner", () => 1).catch(() => {}));
    const first = worker([workflow({ id: "nested" }, nested)]);
    const runId = await trigger(client, "nested", null);
    await untilStatus(client, runId, "failed");
    expect((await client.runs.get(runId)).steps).toEqual([]);
    await first.stop();
    const mended = async ({ step }: WorkflowContext<unknown>) => [await step.run("outer", () => 1), await step.run("inner", () => 2)];
    worker([workflow({ id: "nested" }, mended)]);
    await client.runs.retry(runId);
    await untilStatus(client, runId, "completed");
    expect((await client.runs.get(runId)).result).toEqual([1, 2]);
  });

  test("and fails a run for good whose result is refused", async ({ client, worker }) => {
    worker([workflow({ id: "large" }, async () => "x".repeat(2 * 1024 * 1024))]);
    const runId = await trigger(client, "large", null);
    await untilStatus(client, runId, "failed");
    expect(await client.runs.get(runId)).toMatchObject({
      attempt: 1,
      error: { name: "NonRetryableError", message: expect.stringContaining("The result of the workflow has 2097154 bytes of JSON") },
    });
  });
});

test.for<[string, (step: WorkflowContext<unknown>["step"]) => Promise<unknown>]>([
  ["its last step", (step) => step.run("more", () => 1)],
  ["a step that another one follows", (step) => step.run("more", () => 1).then(() => step.run("after", () => 1))],
  ["an event, though the workflow catches all", (step) => step.sendEvent("more", { name: "told", data: 1 }).catch(() => {})],
])("a run whose journal has no room for %s fails for good", async ([, more], { service, client, worker }) => {
  const full = workflow({ id: "full" }, async ({ step }) => {
    await step.run("fill", () => service.database.query("update run set steps = 9999").then(() => {}));
    return more(step);
  });
  worker([full]);
  const runId = await trigger(client, "full", null);
  await untilStatus(client, runId, "failed");
  const message = expect.stringMatching(/^There is no room for step "more": the journal of a run has at most 10000 steps/);
  expect(await client.runs.get(runId)).toMatchObject({ attempt: 1, error: { name: "JournalTooLargeError", message } });
});

test("a run waits for a signal, and goes on when the client completes it", async ({ client, worker }) => {
  const buy = workflow({ id: "buy" }, async ({ step, run }) => {
    const { signal } = await step.signal("ask", { signal: `buy.${run.id}` });
    return step.waitForSignal("approval", { signal, timeout: "1h" });
  });
  worker([buy]);
  const runId = await trigger(client, "buy", null);
  await untilStatus(client, runId, "waiting");
  expect(await client.signals.complete(`buy.${runId}`, { ok: true })).toEqual({ signal: `buy.${runId}`, runId });
  await untilStatus(client, runId, "completed");
  expect((await client.runs.get(runId)).result).toEqual({ ok: true });
});

test("a signal that is completed wins each later race against a step", async ({ client, worker }) => {
  const executed: number[] = [];
  const crunch = workflow({ id: "crunch" }, async ({ step, run }) => {
    const { signal } = await step.signal("stoppable", { signal: `stop.${run.id}` });
    for (let chunk = 0; ; chunk += 1) {
      const stop = step.waitForSignal("stop", { signal, timeout: "1h" });
      const work = async () => {
        if (executed.push(chunk) === 3) await client.signals.complete(signal, "enough");
      };
      const { winner, value } = await step.race({ stop, work: step.run("work", work) });
      if (winner === "stop") return `${value} at ${chunk}`;
    }
  });
  worker([crunch]);
  const runId = await trigger(client, "crunch", null);
  await untilStatus(client, runId, "completed");
  expect((await client.runs.get(runId)).result).toBe("enough at 3");
  expect(executed).toEqual([0, 1, 2]);
});

test("the progress of a run stands on it, with its steps and at its end", async ({ client, worker }) => {
  const gate = Promise.withResolvers<void>();
  const counting = workflow({ id: "counting" }, async ({ step, run }) => {
    run.progress({ done: 0 });
    await step.run("one", () => 1);
    run.progress({ done: 1 });
    await gate.promise;
    run.progress({ done: 2 });
  });
  worker([counting]);
  const runId = await trigger(client, "counting", null);
  const progress = async () => (await client.runs.get(runId)).progress;
  await until(async () => JSON.stringify(await progress()) === '{"done":1}', "the progress after a step");
  gate.resolve();
  await untilStatus(client, runId, "completed");
  expect(await progress()).toEqual({ done: 2 });
});

test("steps are undone when a run fails for good, and by another worker after a cancel that finds none", async ({ client, worker }) => {
  const undone: unknown[] = [];
  const program =
    (fails: boolean) =>
    async ({ step }: WorkflowContext<unknown>) => {
      const undo = (output: unknown) => void undone.push(output);
      await step.run("flight", () => "flight", { undo });
      await step.run("hotel", () => "hotel", { undo });
      if (fails) throw new Error("no");
      await step.sleep("a day", "24h");
    };
  const failing = workflow({ id: "failing", attempts: 1 }, program(true));
  const cancelled = workflow({ id: "cancelled", attempts: 1 }, program(false));
  const first = worker([failing, cancelled]);
  const failedId = await trigger(client, "failing", null);
  await untilStatus(client, failedId, "failed");
  expect(undone.splice(0)).toEqual(["hotel", "flight"]);
  const runId = await trigger(client, "cancelled", null);
  await untilStatus(client, runId, "sleeping");
  await first.stop();
  await client.runs.cancel(runId);
  worker([cancelled]);
  await until(() => undone.length === 2, "the steps to be undone");
  expect(undone).toEqual(["hotel", "flight"]);
  await until(async () => (await client.runs.get(runId)).steps.length === 5, "the undos to be stored");
  expect(await client.runs.get(runId)).toMatchObject({ status: "cancelled", undoErrors: [] });
});

test("a run whose worker stops while it undoes is undone by another one, and executes nothing else again", async ({ client, worker }) => {
  const reached = Promise.withResolvers<void>();
  const did: string[] = [];
  const program =
    (isFirst: boolean) =>
    async ({ step }: WorkflowContext<unknown>) => {
      const hang = () => {
        reached.resolve();
        return new Promise(quiet);
      };
      await step.run("flight", () => did.push("flight"), { undo: () => (isFirst ? hang() : did.push("undo flight")) });
      await step.run("hotel", () => did.push("hotel"), { undo: () => did.push("undo hotel") });
      await step.run("pay", () => {
        did.push("pay");
        throw new RangeError("Declined.");
      });
    };
  const first = worker([workflow({ id: "travel", attempts: 1 }, program(true))], { name: "first", stopTimeoutMs: 4_000 });
  const runId = await trigger(client, "travel", null);
  await reached.promise;
  expect(await client.runs.get(runId)).toMatchObject({ status: "running" });
  await first.stop();

  worker([workflow({ id: "travel", attempts: 1 }, program(false))], { name: "second" });
  await untilStatus(client, runId, "failed");
  expect(did).toEqual(["flight", "hotel", "pay", "undo hotel", "undo flight"]);
  const run = await client.runs.get(runId);
  expect(run).toMatchObject({ error: { name: "RangeError", message: "Declined." }, undoErrors: [] });
  expect(run.steps.map(({ key }) => key)).toEqual(["flight", "hotel", "undo()", "undo(hotel)", "undo(flight)"]);
});

test("the service makes a call of step.http with a secret that the worker does not see", async ({ service, client, worker }) => {
  const server = await service.handler({
    answers: [500, { status: 200, headers: { "content-type": "application/json" }, body: '{"name":"Ada"}' }, 404],
  });
  await service.ok("POST", "/v1/secrets", { name: "API_KEY", value: "s3cr3t-key" });
  const caller = workflow({ id: "caller" }, async ({ step }) => {
    const headers = { authorization: "Bearer ${{ secrets.API_KEY }}" };
    const { body } = await step.http("load", { url: server.url, headers, backoff: { delay: 1 }, of: json<{ name: string }>() });
    const missing = await step.http("miss", { url: server.url, headers }).catch((error: unknown) => error);
    return [body.name, missing instanceof HttpError && missing.status];
  });
  worker([caller]);
  const runId = await trigger(client, "caller", null);
  await until(() => server.received.length === 1, "the first call");
  await until(async () => typeof (await client.runs.get(runId)).waitingFor[0]?.nextAttemptAt === "string", "it to fail");
  await service.advance(1);
  await untilStatus(client, runId, "completed");
  expect(await client.runs.get(runId)).toMatchObject({ result: ["Ada", 404], steps: [{ attempt: 2 }, { attempt: 1 }] });
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill("Bearer s3cr3t-key"));
});
