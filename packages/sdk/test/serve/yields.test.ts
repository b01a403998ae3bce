import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { PushedRun } from "@tidemill/contract";
import { type Logger, nodeHandler, type ServeOptions, type Tidemill, TidemillError, type WorkflowContext, workflow } from "@tidemill/sdk";
import { expect, onTestFinished, vi } from "vitest";
import { closedPort } from "../../../server/test/harness/raw-server.ts";
import { until } from "../../../server/test/harness/service.ts";
import { executePushed } from "../../src/serve/execute.ts";
import { readServeOptions } from "../../src/serve/options.ts";
import { serveWith } from "../../src/serve/serve.ts";
import { WorkerCalls } from "../../src/worker/calls.ts";
import { KeyState } from "../../src/worker/key-state.ts";
import { RunAbortedError } from "../../src/workflow/errors.ts";
import { test as base } from "../harness/live.ts";

/** How far the clock of executions is ahead of the real one. Milliseconds. */
const clock = { aheadMs: 0 };
const elapsedMs = (): number => performance.now() + clock.aheadMs;

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const SECRET = `cbs_${"s".repeat(43)}`;
/** Seconds. Nothing in these tests takes as long. */
const TIMEOUT = 60;

/** Lets a part of the time of an execution pass. */
function pass(part: number): void {
  clock.aheadMs += part * TIMEOUT * 1_000;
}

const test = base.extend("host", async ({ live }, { onCleanup }) => {
  const closing: (() => Promise<unknown>)[] = [];
  onCleanup(async () => {
    for (const close of closing) await close();
  });
  /** Serves workflows at an address, and registers them. Returns the outcomes of executions. */
  return async (...workflows: ServeOptions["workflows"]) => {
    const { worker, ...settings } = readServeOptions({ url: live.url, key: live.key, workflows, secret: SECRET, logger: SILENT });
    const handler = serveWith(() => ({ ...settings, worker: { ...worker, elapsedMs } }), SILENT);
    const outcomes: string[] = [];
    const noting = async (request: Request): Promise<Response> => {
      const response = await handler(request);
      outcomes.push(((await response.clone().json()) as { outcome: string }).outcome);
      return response;
    };
    const listener = nodeHandler(Object.assign(noting, { register: handler.register }));
    const server = createServer((request, response) => void listener(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await handler.register({ endpointUrl, endpointTimeout: TIMEOUT });
    return outcomes;
  };
});

const start = async (tidemill: Tidemill, id: string): Promise<string> => (await tidemill.workflows.trigger(id, {})).runIds[0] ?? "";

const untilStatus = (tidemill: Tidemill, runId: string, status: string) =>
  until(async () => (await tidemill.runs.get(runId)).status === status, `run ${runId} to be ${status}`);

test("a run may take longer than an execution: each begins no step after half of its time, and the next one continues", async ({
  live: { tidemill },
  host,
}) => {
  const executed: number[] = [];
  const long = workflow({ id: "long", attempts: 1 }, async ({ step, run }) => {
    for (let part = 0; part < 12; part += 1) {
      await step.run("part", () => {
        executed.push(part);
        pass(0.4);
      });
    }
    return run.attempt;
  });
  const outcomes = await host(long);
  const runId = await start(tidemill, "long");
  await untilStatus(tidemill, runId, "completed");
  expect(executed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(await tidemill.runs.get(runId)).toMatchObject({ result: 1, attempt: 1, error: null });
  expect(outcomes).toEqual(["released", "released", "released", "released", "released", "completed"]);
});

test("a lost lease is the reason of the signal, and the message has no token", async ({ live, host }) => {
  const [reached, reason] = [Promise.withResolvers<string>(), Promise.withResolvers<Error>()];
  const lost = workflow({ id: "lost" }, async ({ step, run }) => {
    const slow = step.run("slow", ({ signal }) => {
      reached.resolve(run.id);
      return new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          reason.resolve(signal.reason as Error);
          resolve();
        });
      });
    });
    await step.run("first", () => 1);
    await step.run("second", () => 2);
    await slow;
  });
  vi.spyOn(WorkerCalls.prototype, "storeSteps").mockImplementation(async () => {
    await reached.promise;
    throw new TidemillError({ code: "LEASE_LOST", message: "The lease is lost.", status: 409 });
  });
  onTestFinished(() => void vi.restoreAllMocks());
  await host(lost);
  await start(live.tidemill, "lost");
  expect(await reason.promise).toMatchObject({ why: "lease_lost", message: new RunAbortedError("lease_lost").message });
});

/** An execution of a workflow with this program, whose timers are fake. */
function execute(silent: string, program: (context: WorkflowContext) => unknown, more: Partial<PushedRun> = {}) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const workflows = [workflow({ id: "slow" }, program)];
  const { worker } = readServeOptions({ url: silent, key: "k", workflows, secret: SECRET, logger: SILENT });
  const now = new Date().toISOString();
  const pushed: PushedRun = {
    ...{ kind: "run", timeout: TIMEOUT, runId: "run_1", workflowId: "slow", version: null, attempt: 1, attempts: 1, input: null },
    ...{ trigger: { type: "api" }, createdAt: now, journal: [], lease_token: "t", lease_expires_at: now },
    ...more,
  };
  const closed = new AbortController();
  const heldMs = (pushed.timeout ?? 0) * 1_000;
  return { executed: executePushed({ settings: worker, key: new KeyState("") }, pushed, closed.signal, heldMs), closed };
}

test.for(["closes the connection", "does not close the connection"])(
  "when its time is over, the signal of the step in progress says so, and there is no outcome: the service %s",
  async (how, { silent }) => {
    const [reached, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<Error>()];
    const { executed, closed } = execute(silent, ({ step }) =>
      step.run("wait", ({ signal }) => {
        reached.resolve();
        return new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => {
            aborted.resolve(signal.reason as Error);
            resolve();
          });
        });
      }),
    );
    await reached.promise;
    vi.advanceTimersByTime(TIMEOUT * 1_000);
    expect(await aborted.promise).toMatchObject({
      why: "timed_out",
      message: "The time for this execution of the run is over (endpoint_timeout: 60 s).",
    });
    if (how === "closes the connection") closed.abort();
    else await vi.advanceTimersByTimeAsync(1_000);
    expect(await executed).toEqual({ outcome: null, reason: "The time for this execution is over (endpoint_timeout: 60 s)." });
  },
);

test("an execution of a few seconds finds out in time that its code does not fit the journal", async ({ silent }) => {
  const step = { key: "load", type: "run", status: "completed", output: 1, error: null, attempt: 1, undoable: false } as const;
  const journal = [{ ...step, startedAt: "2026-11-21T12:00:00Z", endedAt: "2026-11-21T12:00:00Z", wakeAt: null, signal: null }];
  const { executed } = execute(silent, (context) => context.step.run("load user", () => 1), { journal, timeout: 3 });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(JSON.parse((await executed).outcome ?? "")).toMatchObject({ outcome: "unfit", step: "load" });
});

test("when its time is over and the service does not take its steps, it says why", async () => {
  const url = `http://127.0.0.1:${await closedPort()}`;
  const { executed } = execute(url, async ({ step }) => {
    await step.run("load", () => 1);
    await step.run("report", () => 2);
  });
  let hasEnded = false;
  void executed.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await executed).toEqual({
    outcome: null,
    reason: expect.stringMatching(/^The handler cannot call the service at http:\/\/127\.0\.0\.1:\d+: /),
  });
});
