import { type Logger, Worker, type WorkerOptions, type WorkflowContext, workflow } from "@tidemill/sdk";
import { test as base, describe, expect } from "vitest";
import { nextTurn } from "../../src/workflow/event-loop.ts";
import { FakeService } from "./fake-service.ts";

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** A logger that keeps its warnings. */
function collecting(): { warnings: [string, unknown][]; logger: Logger } {
  const warnings: [string, unknown][] = [];
  return { warnings, logger: { ...SILENT, warn: (message, fields) => void warnings.push([message, fields]) } };
}

const test = base
  .extend("service", async ({}, { onCleanup }) => {
    const service = await FakeService.start();
    onCleanup(() => service.close());
    return service;
  })
  .extend("worker", async ({ service }, { onCleanup }) => {
    const started: Worker[] = [];
    onCleanup(async () => {
      await Promise.all(started.map((one) => one.stop()));
    });
    return (program: (context: WorkflowContext<never>) => unknown, options: Partial<WorkerOptions> = {}) => {
      const workflows = [workflow({ id: "onboard", attempts: 5, backoff: { delay: "2s" }, version: "v1" }, program)];
      const one = new Worker({ url: service.url, key: "svc_ws_test", workflows, signals: [], logger: SILENT, ...options });
      started.push(one);
      const done = one.run();
      done.catch(quiet);
      return Object.assign(one, { done });
    };
  });

describe("a worker with workflows", () => {
  test("registers them, executes their runs, and stores each step", async ({ service, worker }) => {
    worker(async ({ input, step }: WorkflowContext<never>) => [await step.run("a", () => input), await step.run("b", () => 2)]);
    const run = service.trigger("onboard", { userId: "u1" });
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "completed", result: [{ userId: "u1" }, 2] }]);
    expect(run.journal.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(service.registered).toEqual([["/v1/workflows/onboard", { attempts: 5, backoff: { delay: 2_000 }, version: "v1" }]]);
  });

  test.for([false, true])(
    "warns of a step that a workflow did not await, or fails the run in development: %s",
    async (replayEachStep, { service, worker }) => {
      const { warnings, logger } = collecting();
      worker(({ step }) => void step.run("send", () => 1), { logger, name: "w1", replayEachStep });
      const run = service.trigger("onboard");
      const failed = { outcome: "failed", error_name: "UnawaitedStepError", retry: false };
      await expect.poll(() => run.settled).toMatchObject([replayEachStep ? failed : { outcome: "completed" }]);
      const warned = [expect.stringContaining('did not await step "send". '), { worker: "w1", run: run.runId, workflow: "onboard" }];
      const logged = [
        "An attempt of a run failed.",
        expect.objectContaining({ error: expect.stringContaining('did not await step "send". ') }),
      ];
      expect(warnings).toEqual([replayEachStep ? logged : warned]);
    },
  );

  test.for([false, true])(
    "lets a race of an async function go on, or fails the run in development: %s",
    async (replayEachStep, { service, worker }) => {
      worker(({ step }) => step.race({ load: (async () => step.run("load", () => 1))() }), { replayEachStep });
      const run = service.trigger("onboard");
      const failed = { outcome: "failed", error_name: "RaceError", retry: false };
      await expect.poll(() => run.settled).toMatchObject([replayEachStep ? failed : { outcome: "completed", result: { winner: "load" } }]);
    },
  );

  test("suspends a run that sleeps, and takes it again", async ({ service, worker }) => {
    const executed: string[] = [];
    worker(async ({ step }: WorkflowContext<never>) => {
      await step.run("before", () => void executed.push("before"));
      await step.sleep("a day", "24h");
      await step.run("after", () => void executed.push("after"));
    });
    const run = service.trigger("onboard");
    await expect
      .poll(() => run.settled)
      .toMatchObject([
        {
          outcome: "suspended",
          steps: [
            { key: "before", status: "completed" },
            { key: "a day", sleepFor: 86_400_000 },
          ],
        },
      ]);
    run.journal = run.journal.map((step) => ({ ...step, status: "completed" }));
    service.resume(run);
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "suspended" }, { outcome: "completed" }]);
    expect(executed).toEqual(["before", "after"]);
  });

  test("reports a failure with its name and message", async ({ service, worker }) => {
    const { warnings, logger } = collecting();
    const program = () => {
      throw new RangeError("no cover");
    };
    worker(program, { logger, name: "w1" });
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "failed", error_name: "RangeError", error: "no cover" }]);
    const error = expect.stringMatching(/^RangeError: no cover\n +at program /);
    const fields = { worker: "w1", run: run.runId, workflow: "onboard", attempt: 1, attempts: 3, error };
    expect(warnings).toEqual([["An attempt of a run failed.", fields]]);
  });

  test("logs where a step has thrown, and which step it was", async ({ service, worker }) => {
    const { warnings, logger } = collecting();
    const load = () => {
      throw new TypeError("no rows");
    };
    worker(({ step }) => step.run("load", load), { logger });
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toHaveLength(1);
    expect(warnings).toEqual([
      ["An attempt of a run failed.", expect.objectContaining({ step: "load", error: expect.stringContaining("at load ") })],
    ]);
  });

  test("reports a run whose workflow throws what cannot be read", async ({ service, worker }) => {
    const refuse = () => {
      throw new Error("Do not read this.");
    };
    worker(() => {
      throw new Proxy(new Error("no"), { get: refuse, getPrototypeOf: refuse });
    });
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "failed", error: expect.any(String) }]);
  });

  test("executes no more runs at the same time than its concurrency", async ({ service, worker }) => {
    const counts = { now: 0, most: 0 };
    worker(
      ({ step }: WorkflowContext<never>) =>
        step.run("work", async () => {
          counts.now += 1;
          counts.most = Math.max(counts.most, counts.now);
          await new Promise((resolve) => setTimeout(resolve, 1));
          counts.now -= 1;
        }),
      { concurrency: 3 },
    );
    const runs = Array.from({ length: 20 }, () => service.trigger("onboard"));
    await expect.poll(() => runs.every(({ settled }) => settled.length === 1)).toBe(true);
    expect(counts).toEqual({ now: 0, most: 3 });
  });

  test("stops executing a run when its steps are refused with LEASE_LOST", async ({ service, worker }) => {
    const aborted = Promise.withResolvers<unknown>();
    const slow = Promise.withResolvers<AbortSignal>();
    worker(({ step }: WorkflowContext<never>) =>
      Promise.all([
        step.run("slow", ({ signal }) => {
          slow.resolve(signal);
          return new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              aborted.resolve(signal.reason);
              reject(signal.reason);
            }),
          );
        }),
        step.run("quick", () => slow.promise.then(() => service.take(run))),
      ]),
    );
    const run = service.trigger("onboard");
    expect(await aborted.promise).toMatchObject({ name: "RunAbortedError", why: "lease_lost" });
    expect(run.settled).toEqual([]);
  });

  test("extends the lease of a run that is in progress, and stops executing it when it is lost", async ({ service, worker }) => {
    const aborted = Promise.withResolvers<unknown>();
    worker(({ step }: WorkflowContext<never>) =>
      step.run(
        "slow",
        ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(aborted.resolve(signal.reason)))),
      ),
    );
    const run = service.trigger("onboard");
    await expect.poll(() => service.extended).toBeGreaterThan(0);
    service.take(run);
    expect(await aborted.promise).toMatchObject({ why: "lease_lost" });
  });

  test("releases runs that do not end when it stops, with the outcomes of their steps", async ({ service, worker }) => {
    const started = Promise.withResolvers<void>();
    const one = worker(
      async ({ step }: WorkflowContext<never>) => {
        await step.run("work", ({ signal }) => {
          started.resolve();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve("half")));
        });
        await step.run("next", () => expect.fail("It was executed."));
      },
      { stopTimeoutMs: 4_000 },
    );
    const run = service.trigger("onboard");
    await started.promise;
    await one.stop();
    expect(run.settled).toMatchObject([{ outcome: "released" }]);
    expect(run.journal).toMatchObject([{ key: "work", output: "half" }]);
  });

  test("stores a step again when the service did not answer", async ({ service, worker }) => {
    let tries = 0;
    service.onStore = async () => (++tries === 1 ? [503, {}] : undefined);
    let executed = 0;
    worker(async ({ step }: WorkflowContext<never>) => {
      await step.run("work", () => ++executed);
      return step.run("next", () => executed);
    });
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "completed", result: 1 }]);
    expect([tries, executed]).toEqual([2, 1]);
  });

  test("stores the outputs of steps that end together in calls of a bounded size", async ({ service, worker }) => {
    const sizes: number[] = [];
    service.onStore = async (_run, steps) => void sizes.push(steps.length);
    worker(async ({ step }: WorkflowContext<never>) => {
      await Promise.all([1, 2, 3, 4].map((key) => step.run("part", () => "x".repeat(200_000), { key })));
    });
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "completed" }]);
    expect(sizes).toEqual([2, 2]);
  });

  test("fails a run for good whose step is refused", async ({ service, worker }) => {
    service.onStore = async () => [413, { error: { code: "PAYLOAD_TOO_LARGE", message: "Too large.", details: {} } }];
    worker(({ step }: WorkflowContext<never>) => step.run("work", () => "x".repeat(100_000)));
    const run = service.trigger("onboard");
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "failed", retry: false, error: expect.stringContaining('"work"') }]);
  });

  test("stores the outcomes beside a step that is refused", async ({ service, worker }) => {
    const begins = Promise.withResolvers<void>();
    service.onStore = async (_run, steps) => {
      begins.resolve();
      await nextTurn();
      const at = steps.findIndex(({ type }) => type === "http");
      const message = `steps[${at}].http.url is not allowed.`;
      return at === -1 ? undefined : [400, { error: { code: "VALIDATION_ERROR", message, details: {} } }];
    };
    const aborted = ({ signal }: { signal: AbortSignal }) => new Promise((resolve) => signal.addEventListener("abort", resolve));
    worker(({ step }: WorkflowContext<never>) =>
      Promise.all([
        step.run("first", () => 1),
        step.run("charge", () => begins.promise.then(() => "ch_1")),
        begins.promise.then(() => step.http("call", { url: "https://example.com/" })),
        step.run("slow", aborted),
      ]),
    );
    const run = service.trigger("onboard");
    const error = 'The service refused step "call": http.url is not allowed.';
    await expect.poll(() => run.settled).toMatchObject([{ outcome: "failed", retry: false, error }]);
    expect(run.journal.map(({ key }) => key)).toEqual(["first", "charge"]);
  });

  test("needs a queue or a workflow, and different ids", () => {
    const options = { url: "http://127.0.0.1:1", key: "svc_ws_a" };
    const one = workflow({ id: "one" }, quiet);
    expect(() => new Worker(options)).toThrow("Pass a handler for at least one queue in queues, or at least one workflow in workflows.");
    expect(() => new Worker({ ...options, workflows: [one, one] })).toThrow("workflows must have different ids.");
    expect(() => workflow({ id: "a b" }, quiet)).toThrow("id must be letters");
  });
});

describe("a worker that executes many runs at once", () => {
  const MANY = 40;
  const twoSteps = async ({ input, step }: WorkflowContext<never>) => {
    await step.run("a", () => input);
    await step.run("b", () => input);
    return input;
  };
  const start = (service: FakeService) => Array.from({ length: MANY }, (_, number) => service.trigger("onboard", number));

  test("reports their steps together", async ({ service, worker }) => {
    const runs = start(service);
    worker(twoSteps, { concurrency: MANY });
    await expect.poll(() => runs.filter(({ settled }) => settled.length > 0).length).toBe(MANY);
    for (const [number, { journal, settled }] of runs.entries()) {
      expect(settled).toMatchObject([{ outcome: "completed", result: number }]);
      expect(journal).toMatchObject([{ key: "a", output: number }, { key: "b" }]);
    }
    expect(service.storedTogether.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(MANY / 2);
    expect(service.storedTogether.length).toBeLessThan(MANY / 2);
  });

  test("gives up only those whose report is refused", async ({ service, worker }) => {
    const runs = start(service);
    const refused = runs[MANY / 2];
    service.onStore = async (run) =>
      run === refused ? [409, { error: { code: "LEASE_LOST", message: "The lease is lost.", details: {} } }] : undefined;
    worker(twoSteps, { concurrency: MANY });
    await expect.poll(() => runs.filter(({ settled }) => settled.length > 0).length).toBe(MANY - 1);
    expect(refused?.settled).toEqual([]);
    expect(service.storedTogether.length).toBeGreaterThan(0);
  });

  test("goes on with the others while the steps of some cannot be stored", async ({ service, worker }) => {
    const tried = new Set<unknown>();
    let isAway = true;
    service.onStore = async (run) => {
      if (!isAway || !stuck.includes(run)) return undefined;
      tried.add(run);
      return [503, { error: { code: "UNAVAILABLE", message: "Later.", details: {} } }];
    };
    const stuck = [1, 2].map((number) => service.trigger("onboard", number));
    worker(twoSteps, { concurrency: MANY });
    await expect.poll(() => tried.size).toBe(2);
    for (const number of [3, 4, 5]) {
      const run = service.trigger("onboard", number);
      await expect.poll(() => run.settled).toMatchObject([{ outcome: "completed", result: number }]);
    }
    isAway = false;
    for (const run of stuck) await expect.poll(() => run.settled, { timeout: 10_000 }).toMatchObject([{ outcome: "completed" }]);
  });

  test("reports one by one to a service that does not have the call", async ({ service, worker }) => {
    service.storesMany = false;
    const runs = start(service);
    worker(twoSteps, { concurrency: MANY });
    await expect.poll(() => runs.filter(({ settled }) => settled.length > 0).length).toBe(MANY);
    expect(service.storedTogether).toEqual([]);
  });
});
