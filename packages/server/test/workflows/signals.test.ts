import type { TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { type RunId, sql, uuidOf } from "#kernel";
import { beginExecutions } from "../../src/workflows/executions/execution-store.ts";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { test as base } from "../harness/engine.ts";
import { inTurn } from "../harness/in-turn.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

let signals = 0;
const newSignal = () => `approve.${++signals}`;

const waitFor = (signal: string, timeout = 60_000, key = "approval") => ({ key, type: "wait", status: "waiting", signal, timeout });
const suspended = (...steps: object[]) => ({ outcome: "suspended", steps });

/** A run that waits for a signal. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"waiting", { runId: string; signal: string; complete: (payload?: unknown) => ReturnType<Service["api"]> }>(
    "waiting",
    async ({ service, flow }) => {
      const signal = newSignal();
      const runId = await flow.trigger();
      await flow.end(await flow.take(), suspended(waitFor(signal)));
      return { runId, signal, complete: (payload) => service.api("POST", `/v1/signals/${signal}/complete`, payload) };
    },
  );

const stepOf = ({ journal }: TakenRun, key = "approval") => journal.find((step) => step.key === key);

describe("a run that waits for a signal", () => {
  test("stays waiting, and shows what it waits for (Signals)", async ({ flow, waiting: { runId, signal } }) => {
    expect(await flow.get(runId)).toMatchObject({
      status: "waiting",
      waitingFor: [{ type: "signal", step: "approval", signal, timeoutAt: expect.any(String) }],
    });
  });

  test("goes on with the whole body of its completion, to the digit (Workflow behavior 6)", async ({
    service,
    flow,
    waiting: { runId, signal },
  }) => {
    const next = flow.take();
    const { status, body } = await service.api("POST", `/v1/signals/${signal}/complete`, ' {"amount": 12345678901234567890.10} ');
    expect([status, body]).toEqual([200, { signal, runId }]);
    const run = await next;
    expect(run.runId).toBe(runId);
    const { text } = await service.api("GET", `/v1/runs/${runId}`);
    expect(text).toContain('"output":{"amount": 12345678901234567890.10}');
    expect(await flow.get(runId)).toMatchObject({ status: "running", waitingFor: [] });
  });

  test.for([
    ["no body", undefined, null],
    ["null", "null", null],
    ["a text", '"yes"', "yes"],
    ["a list", "[1,2]", [1, 2]],
  ] as const)("goes on with %s", async ([, sent, output], { flow, waiting: { complete } }) => {
    expect((await complete(sent)).status).toBe(200);
    expect(stepOf(await flow.take())).toMatchObject({ type: "wait", status: "completed", output });
  });

  test("goes on when its timeout passes, with an error, and the signal is gone (Workflow behavior 6)", async ({
    service,
    flow,
    waiting: { complete, signal },
  }) => {
    await service.advance(61);
    const error = { name: "SignalTimeoutError", message: `The signal "${signal}" was not completed in time.` };
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", output: null, error });
    expect((await complete()).status).toBe(404);
  });

  test("goes on though an earlier execution, whose node has lost the run, begins late", async ({
    service,
    engine,
    flow,
    waiting: { runId, complete },
  }) => {
    const { workspaceId, laneId } = await laneOfWorkflow(service, flow.id);
    expect(await beginExecutions(engine, workspaceId, [{ id: readRunId(runId) as RunId, laneId, execution: 1, leaseId: 1 }], null)).toEqual(
      [],
    );
    expect(await flow.get(runId)).toMatchObject({ status: "waiting" });
    expect((await complete({ ok: true })).status).toBe(200);
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", output: { ok: true } });
  });

  test("that is cancelled does not go on: a completion is not found", async ({ service, flow, waiting: { runId, complete } }) => {
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect((await complete()).status).toBe(404);
    expect((await flow.work({ workflows: [flow.id] })).runs).toEqual([]);
  });

  test("that is cancelled and retried waits on", async ({ service, flow, waiting: { runId, complete } }) => {
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    await flow.end(await flow.take(), suspended());
    expect(await flow.get(runId)).toMatchObject({ status: "waiting" });
    expect((await complete(1)).status).toBe(200);
    expect(stepOf(await flow.take())).toMatchObject({ output: 1 });
  });
});

describe("a wait that is stored beside steps in progress", () => {
  const stop = newSignal();

  for (const together of [false, true]) {
    const store = async (service: Service, { runId, lease_token }: TakenRun, steps: object[]) => {
      if (!together) return service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
      const reports = [{ id: runId, lease_token }];
      return (await service.ok("POST", "/v1/work/steps", { reports, steps: steps.map((step) => ({ report: 0, ...step })) })).reports[0];
    };

    test(`is ready if its signal is completed already, and the next execution begins with the payload: ${together ? "in one of several reports" : "alone"}`, async ({
      service,
      flow,
    }) => {
      const signal = newSignal();
      const runId = await flow.trigger();
      const run = await flow.take();
      await service.ok("POST", `/v1/runs/${runId}/signals`, { lease_token: run.lease_token, key: "ask", signal });
      expect((await store(service, run, [waitFor(signal, 60_000, "early")])).ready).toBeUndefined();
      await service.ok("POST", `/v1/signals/${signal}/complete`, { by: "ada" });
      const cancel = { key: "early", type: "wait", status: "cancelled" };
      const steps = [cancel, waitFor(signal, 60_000, "late"), waitFor(newSignal(), 60_000, "other")];
      for (let times = 0; times < 2; times += 1) expect((await store(service, run, steps)).ready).toEqual(["late"]);
      await flow.end(run, suspended());
      const next = await flow.take();
      expect([stepOf(next, "late")?.output, stepOf(next, "other")?.status]).toEqual([{ by: "ada" }, "waiting"]);
    });
  }

  test("is ready if it may not have its signal", async ({ service, flow }) => {
    await flow.trigger();
    const owner = await flow.take();
    await flow.end(owner, suspended(waitFor(stop)));
    const runId = await flow.trigger();
    const { lease_token } = await flow.take();
    const body = { lease_token, steps: [waitFor(stop, 60_000, "taken")] };
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, body)).toEqual({ steps: 1, ready: ["taken"] });
  });
});

describe("a signal", () => {
  test("is completed once: the second completion is refused, also when the run has ended", async ({ flow, waiting: { complete } }) => {
    await complete(1);
    const again = async () => {
      const { status, body } = await complete(2);
      return [status, body.error.code];
    };
    expect(await again()).toEqual([409, "INVALID_STATE"]);
    const run = await flow.take();
    expect(stepOf(run)).toMatchObject({ output: 1 });
    await flow.end(run, { outcome: "completed" });
    expect(await again()).toEqual([409, "INVALID_STATE"]);
  });

  test("of another workspace is not found, like one that does not exist (Authentication 3)", async ({ service, waiting: { signal } }) => {
    const other = new Service(service.node, service.database, service.clock, await newWorkspace(service.database));
    const [foreign, absent] = [
      await other.api("POST", `/v1/signals/${signal}/complete`, 1),
      await other.api("POST", "/v1/signals/no/complete", 1),
    ];
    expect([foreign.status, foreign.text.replaceAll(signal, "no")]).toEqual([404, absent.text]);
    expect(foreign.body.error.details).toEqual({ resource: "signal", id: signal });
    expect(absent.body.error.details).toEqual({ resource: "signal", id: "no" });
  });

  test("that belongs to a run that has not ended fails the step of another run that waits for it", async ({
    flow,
    waiting: { runId, signal },
  }) => {
    const other = await flow.trigger();
    await flow.end(await flow.take(), suspended(waitFor(signal)));
    const run = await flow.take();
    expect(run.runId).toBe(other);
    const message = `The signal "${signal}" belongs to the run ${runId}, which has not ended.`;
    expect(stepOf(run)).toMatchObject({ status: "failed", error: { name: "SignalTakenError", message } });
  });

  test("may be taken by another run when its run has ended", async ({ flow, waiting: { complete, signal } }) => {
    await complete(1);
    await flow.end(await flow.take(), { outcome: "completed" });
    const other = await flow.trigger();
    await flow.end(await flow.take(), suspended(waitFor(signal)));
    expect(await flow.get(other)).toMatchObject({ status: "waiting" });
    expect((await complete(2)).body).toMatchObject({ runId: other });
    expect(stepOf(await flow.take())).toMatchObject({ output: 2 });
  });

  test("that its run has waited for may be waited for again, by another step", async ({ flow, waiting: { complete, signal } }) => {
    await complete(1);
    await flow.end(await flow.take(), suspended(waitFor(signal, 60_000, "second")));
    expect((await complete(2)).status).toBe(200);
    const run = await flow.take();
    expect([stepOf(run)?.output, stepOf(run, "second")?.output]).toEqual([1, 2]);
  });

  test("with an id over 256 characters is refused", async ({ service }) => {
    const { status, body } = await service.api("POST", `/v1/signals/${"x".repeat(257)}/complete`, 1);
    expect([status, body.error.details.issues?.[0]?.path]).toEqual([400, "id"]);
  });
});

describe("a signal that is registered before it is handed out", () => {
  const register = (service: Service, run: TakenRun, signal: string, key = "register") =>
    service.api("POST", `/v1/runs/${run.runId}/signals`, { lease_token: run.lease_token, key, signal });

  test("keeps a completion that comes before the wait", async ({ service, flow }) => {
    const signal = newSignal();
    await flow.trigger();
    const run = await flow.take();
    expect((await register(service, run, signal)).body).toEqual({ signal });
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, { ok: true })).status).toBe(200);
    await flow.end(run, suspended(waitFor(signal)));
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", output: { ok: true } });
  });

  test("keeps a completion that comes while the run executes other steps", async ({ service, flow }) => {
    const signal = newSignal();
    const runId = await flow.trigger();
    const run = await flow.take();
    const steps = [waitFor(signal)];
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, 7)).status).toBe(200);
    await flow.end(run, suspended());
    expect(stepOf(await flow.take())).toMatchObject({ output: 7 });
  });

  test("may be registered again by the same step, and outlasts a wait that timed out", async ({ service, flow }) => {
    const signal = newSignal();
    await flow.trigger();
    const run = await flow.take();
    await register(service, run, signal);
    expect((await register(service, run, signal)).body).toEqual({ signal });
    await flow.end(run, suspended(waitFor(signal)));
    await service.advance(61);
    const late = await flow.take();
    expect(stepOf(late)).toMatchObject({ status: "failed" });
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, 3)).status).toBe(200);
    await flow.end(late, suspended(waitFor(signal, 60_000, "again")));
    expect(stepOf(await flow.take(), "again")).toMatchObject({ output: 3 });
  });

  test("by another run is refused with the run that has it", async ({ service, flow, waiting: { runId, signal } }) => {
    await flow.trigger();
    const { status, body } = await register(service, await flow.take(), signal);
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      "CONFLICT",
      `The signal "${signal}" belongs to the run ${runId}, which has not ended.`,
    ]);
  });

  test("is refused to a worker that has lost the run", async ({ service, flow }) => {
    const runId = await flow.trigger();
    const run = await flow.take();
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect((await register(service, run, newSignal())).body.error.code).toBe("LEASE_LOST");
  });
});

describe("at the same moment", () => {
  const lockJob = ({ runId }: { runId: string }) => sql`select from job where id = ${uuidOf("run", runId)} for update`;

  test("of two completions one wins", async ({ engine, flow, waiting }) => {
    const replies: Promise<{ status: number }>[] = [];
    const complete = (payload: number) => () => void replies.push(waiting.complete(payload));
    await inTurn(engine, lockJob(waiting), [complete(1), complete(2)]);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 409]);
    expect(stepOf(await flow.take())).toMatchObject({ output: 1 });
  });

  test("of a completion and a cancel the cancel wins that was first", async ({ service, engine, flow, waiting }) => {
    const replies: Promise<{ status: number }>[] = [];
    await inTurn(engine, lockJob(waiting), [
      () => void replies.push(service.api("POST", `/v1/runs/${waiting.runId}/cancel`)),
      () => void replies.push(waiting.complete(1)),
    ]);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 404]);
    expect(await flow.get(waiting.runId)).toMatchObject({ status: "cancelled" });
  });

  test("of a completion and a cancel the completion is kept that was first, and the run is cancelled", async ({
    service,
    engine,
    flow,
    waiting,
  }) => {
    const replies: Promise<{ status: number }>[] = [];
    await inTurn(engine, lockJob(waiting), [
      () => void replies.push(waiting.complete(1)),
      () => void replies.push(service.api("POST", `/v1/runs/${waiting.runId}/cancel`)),
    ]);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await flow.get(waiting.runId)).toMatchObject({ status: "cancelled" });
  });

  const lockSignal = ({ signal }: { signal: string }) => sql`select from signal where id = ${signal} for update`;
  const pastTimeout = ({ clock }: Service) => clock.set(clock.nowMs() + 61_000);

  test("of a completion and the timeout the timeout wins that was first", async ({ service, engine, flow, waiting }) => {
    await pastTimeout(service);
    const [taken, replies]: [Promise<TakenRun>[], Promise<{ status: number }>[]] = [[], []];
    const take = () => void taken.push(flow.take());
    const complete = () => void replies.push(waiting.complete(1));
    await inTurn(engine, lockSignal(waiting), [take, complete]);
    expect(await Promise.all(replies)).toMatchObject([{ status: 404 }]);
    const [run] = await Promise.all(taken);
    expect(stepOf(run as TakenRun)).toMatchObject({ status: "failed", error: { name: "SignalTimeoutError" } });
  });

  test("of a completion and the timeout the completion wins that was first", async ({ service, engine, flow, waiting }) => {
    await pastTimeout(service);
    const locked = hold(engine, lockSignal(waiting));
    await locked.held;
    // It has the job of the run, which is not claimed until the payload is stored.
    const reply = waiting.complete(1);
    await until(() => isWaiting(service.database, "update signal"), "the completion to wait for the lock");
    const taken = flow.take();
    await locked.release();
    expect((await reply).status).toBe(200);
    expect(stepOf(await taken)).toMatchObject({ status: "completed", output: 1 });
  });

  test("a completion that is stored counts, though the timeout has passed when the run goes on", async ({
    service,
    flow,
    waiting: { complete },
  }) => {
    expect((await complete(1)).status).toBe(200);
    await service.clock.set(service.clock.nowMs() + 61_000);
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", output: 1 });
  });
});

describe("a wait beside other steps", () => {
  const report = (service: Service, { runId, lease_token }: TakenRun, ...steps: object[]) =>
    service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });

  test("that is stored before the execution ends is not forgotten: its signal was completed before", async ({ service, flow }) => {
    const signal = newSignal();
    await flow.trigger();
    const run = await flow.take();
    await service.ok("POST", `/v1/runs/${run.runId}/signals`, { lease_token: run.lease_token, key: "ask", signal });
    await service.ok("POST", `/v1/signals/${signal}/complete`, "1");
    await report(service, run, waitFor(signal), { key: "late", type: "sleep", status: "waiting", sleepFor: 86_400_000 });
    await flow.end(run, suspended());
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", output: 1 });
  });

  test("that may not have its signal fails at once, and the run goes on", async ({ service, flow, waiting: { signal, runId: owner } }) => {
    await flow.trigger();
    const run = await flow.take();
    await report(service, run, waitFor(signal), { key: "late", type: "sleep", status: "waiting", sleepFor: 86_400_000 });
    await flow.end(run, suspended());
    const message = `The signal "${signal}" belongs to the run ${owner}, which has not ended.`;
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", error: { name: "SignalTakenError", message } });
  });

  test("leaves a payload that came for it to the run's next wait, if the program has cancelled it", async ({ service, flow }) => {
    const signal = newSignal();
    await flow.trigger();
    const sleeps = { key: "remind", type: "sleep", status: "waiting", sleepFor: 1_000 };
    await flow.end(await flow.take(), suspended(waitFor(signal, 60_000, "first"), sleeps));
    await service.advance(2);
    await service.ok("POST", `/v1/signals/${signal}/complete`, '"late"');
    const run = await flow.take();
    expect(run.journal.map(({ key }) => key)).toEqual(["remind", "first"]);
    await report(service, run, { key: "first", type: "wait", status: "cancelled" }, { key: "remind", type: "sleep", status: "cancelled" });
    await flow.end(run, suspended(waitFor(signal, 60_000, "second")));
    const next = await flow.take();
    expect(stepOf(next, "first")).toMatchObject({ status: "cancelled", output: null });
    expect(stepOf(next, "second")).toMatchObject({ status: "completed", output: "late" });
  });

  const cancelled = (key = "approval") => ({ key, type: "wait", status: "cancelled" });

  test("that lost a race takes its signal with it: nobody can complete it, and another run may have it", async ({ service, flow }) => {
    const signal = newSignal();
    await flow.trigger();
    const run = await flow.take();
    await report(service, run, waitFor(signal));
    await report(service, run, cancelled());
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, "1")).status).toBe(404);
    await flow.end(run, suspended({ key: "late", type: "sleep", status: "waiting", sleepFor: 86_400_000 }));
    const other = await flow.trigger();
    await flow.end(await flow.take(), suspended(waitFor(signal)));
    expect(await flow.get(other)).toMatchObject({ waitingFor: [{ signal }] });
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, "2")).body).toMatchObject({ runId: other });
  });

  test("that lost a race leaves its signal to another wait, to one that begins, and to the step that registered it", async ({
    service,
    flow,
  }) => {
    const [waited, asked, registered] = [newSignal(), newSignal(), newSignal()];
    const runId = await flow.trigger();
    const run = await flow.take();
    await service.ok("POST", `/v1/runs/${runId}/signals`, { lease_token: run.lease_token, key: "ask", signal: registered });
    await report(service, run, waitFor(waited, 60_000, "a"), waitFor(waited, 60_000, "b"));
    await report(service, run, waitFor(asked, 60_000, "c"), waitFor(registered, 60_000, "d"));
    await report(service, run, cancelled("a"), cancelled("c"), cancelled("d"), waitFor(asked, 60_000, "e"));
    for (const signal of [waited, asked, registered])
      expect((await service.api("POST", `/v1/signals/${signal}/complete`, "1")).status).toBe(200);
    await flow.end(run, suspended());
    const next = await flow.take();
    expect(["b", "e"].map((key) => stepOf(next, key)?.output)).toEqual([1, 1]);
  });

  test("that lost a race does not count among the signals that a run may have", async ({ service, flow }) => {
    await flow.trigger();
    const run = await flow.take();
    const races = Array.from({ length: 101 }, newSignal);
    for (const [race, signal] of races.entries())
      await report(service, run, ...(race > 0 ? [cancelled(`wait ${race - 1}`)] : []), waitFor(signal, 60_000, `wait ${race}`));
    await flow.end(run, suspended());
    const { waitingFor } = await flow.get(run.runId);
    expect(waitingFor).toMatchObject([{ signal: races.at(-1) }]);
    expect((await service.api("POST", `/v1/signals/${races.at(-1)}/complete`, "1")).status).toBe(200);
    expect(stepOf(await flow.take(), "wait 100")).toMatchObject({ status: "completed" });
  });

  test("that lost a race keeps a completion that was first, and refuses one that comes later", async ({ service, engine, flow }) => {
    const first = newSignal();
    const later = newSignal();
    const runId = await flow.trigger();
    const run = await flow.take();
    await report(service, run, waitFor(first, 60_000, "first"), waitFor(later, 60_000, "later"));
    const replies: Promise<{ status: number }>[] = [];
    const complete = (signal: string) => () => void replies.push(service.api("POST", `/v1/signals/${signal}/complete`, "1"));
    const lost: Promise<unknown>[] = [];
    const lockJob = sql`select from job where id = ${uuidOf("run", runId)} for update`;
    await inTurn(engine, lockJob, [
      complete(first),
      () => void lost.push(report(service, run, cancelled("first"), cancelled("later"))),
      complete(later),
    ]);
    await Promise.all(lost);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 404]);
    await flow.end(run, suspended(waitFor(first, 60_000, "again")));
    expect(stepOf(await flow.take(), "again")).toMatchObject({ status: "completed", output: 1 });
  });

  test("does not take the signal with it when its time passes, if another one waits for it", async ({ service, flow }) => {
    const signal = newSignal();
    const runId = await flow.trigger();
    await flow.end(await flow.take(), suspended(waitFor(signal, 1_000, "first"), waitFor(signal, 60_000, "second")));
    await service.advance(2);
    await flow.end(await flow.take(), suspended());
    expect((await service.api("POST", `/v1/signals/${signal}/complete`, "2")).status).toBe(200);
    expect(stepOf(await flow.take(), "second")).toMatchObject({ status: "completed", output: 2 });
    expect(await flow.get(runId)).toMatchObject({ waitingFor: [] });
  });

  test("is no longer waited for when it is cancelled", async ({ service, flow, waiting: { signal, complete } }) => {
    await complete(1);
    const run = await flow.take();
    const again = waitFor(signal, 60_000, "again");
    await flow.end(run, suspended(again));
    expect(await flow.get(run.runId)).toMatchObject({ status: "waiting", waitingFor: [{ step: "again" }] });
    await service.ok("POST", `/v1/signals/${signal}/complete`, "2");
    expect(stepOf(await flow.take(), "again")).toMatchObject({ output: 2 });
  });
});

test("signals of a deleted workflow are gone, and another run may have them", async ({ service, flow, waiting: { signal, complete } }) => {
  await service.ok("DELETE", `/v1/workflows/${flow.id}`);
  expect((await complete(1)).status).toBe(404);
  const other = await putWorkflow(service);
  await other.trigger();
  await other.end(await other.take(), suspended(waitFor(signal)));
  expect((await complete(2)).status).toBe(200);
  expect(stepOf(await other.take())).toMatchObject({ output: 2 });
});

test("a step of another type is not taken for a registered signal or a sent event", async ({ service, flow }) => {
  await flow.trigger();
  const { runId, lease_token } = await flow.take();
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [{ key: "k", type: "run", status: "completed" }] });
  for (const [path, body] of [
    ["signals", { signal: newSignal() }],
    ["events", { name: "some.event" }],
  ] as const) {
    const { status, body: reply } = await service.api("POST", `/v1/runs/${runId}/${path}`, { lease_token, key: "k", ...body });
    expect([status, reply.error.message]).toEqual([409, 'The journal has a step "k" of the type run, which is completed.']);
  }
});
