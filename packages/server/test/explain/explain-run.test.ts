import { type ExplainedRunGate, RUN_GATES, type RunExplanation, type RunGateName } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { putCircuit } from "../harness/engine.ts";
import { type Service, test } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const NOON = "2026-11-21T12:00:00.000Z";
const ENDPOINT = "https://workflows.example.com/tidemill";

const explain = (service: Service, runId: string): Promise<RunExplanation> => service.ok("GET", `/v1/runs/${runId}/explain`);

function gateOf({ gates }: RunExplanation, name: RunGateName): ExplainedRunGate {
  const found = gates.find(({ gate }) => gate === name);
  if (!found) throw new Error(`There is no gate ${name}.`);
  return found;
}

/** Starts a run, and suspends it in these steps. */
async function suspended({ trigger, take, end }: TestWorkflow, ...steps: object[]): Promise<string> {
  const runId = await trigger();
  await end(await take(), { outcome: "suspended", steps: steps.map((step) => ({ status: "waiting", ...step })) });
  return runId;
}

describe("the explanation of a run", () => {
  test("tells every gate with its figures, in their order", async ({ service }) => {
    const { id, trigger } = await putWorkflow(service);
    const runId = await trigger();
    const explanation = await explain(service, runId);
    expect(explanation).toEqual({
      runId,
      workflowId: id,
      status: "pending",
      heldBy: ["handler"],
      summary: "Not running: the workflow has neither an endpoint_url nor a worker.",
      ahead: 0,
      aheadIsMore: false,
      gates: [
        {
          gate: "state",
          holds: false,
          message: "It has not ended.",
          figures: { status: "pending", attempt: 1, attempts: 3, endedAt: null },
        },
        {
          gate: "nodes",
          holds: false,
          message: "1 node is alive.",
          figures: { alive: 1, lastSeenAt: expect.stringMatching(/Z$/) },
        },
        { gate: "steps", holds: false, message: "It waits for no step.", figures: { waiting: 0, firstAt: null } },
        { gate: "code", holds: false, message: "It waits for no other code.", figures: { step: null, codeVersion: null, retryAt: null } },
        { gate: "due", holds: false, message: `It was due at ${NOON}.`, figures: { dueAt: NOON } },
        { gate: "version", holds: false, message: "Workers of any version may have it.", figures: { version: null } },
        {
          gate: "plan",
          holds: false,
          message: "The plan enterprise includes callbacks.",
          figures: { plan: "enterprise", callbacks: true },
        },
        {
          gate: "handler",
          holds: true,
          message: "The workflow has neither an endpoint_url nor a worker.",
          figures: { hasEndpointUrl: false, workerLastSeenAt: null },
        },
        {
          gate: "circuit",
          holds: false,
          message: "The circuit is closed.",
          figures: { state: "closed", openedAt: null, nextProbeAt: null, mayProbe: false, lastError: null },
        },
        {
          gate: "concurrency",
          holds: false,
          message: "The workflow has no concurrency limit.",
          figures: { limit: null, inFlight: null, free: null, oldestRunId: null, oldestStartedAt: null, ahead: 0 },
        },
        { gate: "workspace_share", holds: false, message: "The workspace's share of this node has room.", figures: { usedUp: [] } },
        {
          gate: "quota",
          holds: false,
          message: "The workspace has no quota.",
          figures: { used: 1, limit: null, resetsAt: "2026-12-01T00:00:00.000Z" },
        },
      ],
      estimatedStart: null,
    });
    expect(explanation.gates.map(({ gate }) => gate)).toEqual(RUN_GATES);
  });

  test("says that the concurrency of its workflow is used up, and how many go before it", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service, { concurrency: 1 });
    const [running, next, last] = [await trigger(), await trigger(), await trigger()];
    expect(await take()).toMatchObject({ runId: running });
    expect(await explain(service, running)).toMatchObject({
      heldBy: [],
      summary: "Running: attempt 1 of 3. Its execution started just now.",
      ahead: null,
    });
    expect(await explain(service, next)).toMatchObject({
      heldBy: ["concurrency"],
      summary: `Not running: the workflow has 1 of 1 allowed executions in flight (${running} has run for 1 s).`,
      ahead: 0,
    });
    const explanation = await explain(service, last);
    expect(explanation.summary).toBe(
      `Not running: the workflow has 1 of 1 allowed executions in flight (${running} has run for 1 s). 1 execution goes before it.`,
    );
    expect(gateOf(explanation, "concurrency")).toEqual({
      gate: "concurrency",
      holds: true,
      message: `The workflow has 1 of 1 allowed executions in flight (${running} has run for 1 s). 1 execution goes before it.`,
      figures: { limit: 1, inFlight: 1, free: 0, oldestRunId: running, oldestStartedAt: NOON, ahead: 1 },
    });
  });

  test("does not name concurrency that is free while it sleeps", async ({ service }) => {
    const flow = await putWorkflow(service, { concurrency: 1 });
    const asleep = await suspended(flow, { key: "nap", type: "sleep", sleepFor: 29_000 });
    await flow.trigger();
    const explanation = await explain(service, asleep);
    expect(explanation).toMatchObject({ heldBy: ["steps"], summary: 'Not running: it sleeps in "nap" and wakes in 29 s.' });
    expect(gateOf(explanation, "concurrency")).toMatchObject({
      holds: false,
      message: "The workflow has 0 of 1 allowed executions in flight.",
    });
  });

  test("names its version only while its workflow has a slot for it", async ({ service }) => {
    const flow = await putWorkflow(service, { concurrency: 1 });
    const runId = await flow.trigger();
    await flow.end(await flow.take({ version: "v1" }), { outcome: "released" });
    const ask = (version: string) => flow.work({ worker: `w-${version}`, workflows: [flow.id], version });
    expect((await ask("v2")).runs).toEqual([]);
    expect(await explain(service, runId)).toMatchObject({ heldBy: ["version"], estimatedStart: null });
    const other = await flow.trigger();
    expect((await ask("v2")).runs).toHaveLength(1);
    await service.database.query(
      `insert into tally (workspace_id, lane_id, at, completed) select workspace_id, id, moment() - interval '1 second', 30
       from lane where kind = 'workflow' and name = $1`,
      [flow.id],
    );
    await service.database.query("update workflow set created_at = moment() - interval '1 hour'");
    const explanation = await explain(service, runId);
    expect(explanation).toMatchObject({
      heldBy: ["concurrency"],
      summary: `Not running: the workflow has 1 of 1 allowed executions in flight (${other} has run for 1 s). It should start in 2 s.`,
      estimatedStart: "2026-11-21T12:00:02.000Z",
    });
    expect(gateOf(explanation, "version")).toMatchObject({ holds: false, message: "It is kept for a worker of version v1." });
  });

  test("says when its delay ends, and when its next attempt comes", async ({ service }) => {
    const flow = await putWorkflow(service, { attempts: 2, backoff: { type: "exponential", delay: 5_000 } });
    const failed = await flow.trigger();
    await flow.end(await flow.take(), { outcome: "failed", error: "No answer." });
    expect((await explain(service, failed)).summary).toMatch(
      /^Not running: its last execution failed and attempt 2 of 2 is due in [56] s\. The error was Error: No answer\.$/,
    );
    const delayed = await flow.trigger({ delay: 29 });
    expect(await explain(service, delayed)).toMatchObject({
      heldBy: ["due"],
      summary: "Not running: it is due in 29 s.",
      estimatedStart: "2026-11-21T12:00:29.000Z",
    });
  });

  test("says after how many attempts it has failed", async ({ service }) => {
    const flow = await putWorkflow(service, { attempts: 1 });
    const runId = await flow.trigger();
    await flow.end(await flow.take(), { outcome: "failed", error: "No answer." });
    expect(await explain(service, runId)).toMatchObject({
      heldBy: ["state"],
      summary: "Failed just now, after 1 of 1 attempts. The error was Error: No answer.",
    });
  });

  test("says which steps it waits for", async ({ service }) => {
    const flow = await putWorkflow(service);
    const asleep = await suspended(flow, { key: "nap", type: "sleep", sleepFor: 29_000 });
    expect(await explain(service, asleep)).toMatchObject({
      status: "sleeping",
      heldBy: ["steps"],
      summary: 'Not running: it sleeps in "nap" and wakes in 29 s.',
      estimatedStart: "2026-11-21T12:00:29.000Z",
    });
    const asking = await suspended(
      flow,
      { key: "nap", type: "sleep", sleepFor: 29_000 },
      { key: "approval", type: "wait", signal: "approve.1", timeout: 3_600_000 },
      ...["a", "b"].map((key) => ({ key, type: "sleep", sleepFor: 7_200_000 })),
    );
    const explanation = await explain(service, asking);
    expect(explanation).toMatchObject({ status: "waiting", heldBy: ["steps"], estimatedStart: null });
    expect(explanation.summary).toContain('it sleeps in "nap" and wakes in 29 s and waits for the signal "approve.1" of "approval" and');
    expect(explanation.summary).toMatch(/ and waits for 1 more step\.$/);
    expect(gateOf(explanation, "steps").figures).toEqual({ waiting: 4, firstAt: "2026-11-21T12:00:29.000Z" });
    expect(gateOf(explanation, "due").figures).toEqual({ dueAt: null });
  });

  test("says that nobody asks for it when what it waited for has come", async ({ service }) => {
    const flow = await putWorkflow(service);
    const runId = await suspended(flow, { key: "approval", type: "wait", signal: "approve.2", timeout: 3_600_000 });
    await service.ok("POST", "/v1/signals/approve.2/complete", true);
    await service.advance(91);
    expect(await explain(service, runId)).toMatchObject({
      heldBy: ["handler"],
      summary: "Not running: no worker has asked for its runs for 1 min 31 s.",
    });
  });

  test("says for which version it is kept, and which code its journal does not fit", async ({ service }) => {
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    await flow.end(await flow.take({ version: "v1" }), { outcome: "released" });
    await flow.work({ worker: "w2", workflows: [flow.id], version: "v2" });
    expect(await explain(service, runId)).toMatchObject({
      heldBy: ["version"],
      summary: "Not running: it is kept for a worker of version v1.",
      estimatedStart: null,
    });
    for (const version of ["v1", "v2"]) {
      const { runId: id, lease_token } = await flow.take({ version });
      const unfit = { id, lease_token, outcome: "unfit", step: "load", error: "The journal has another step." };
      expect(await flow.work({ version, settle: [unfit] })).toMatchObject({ settled: [{ ok: true }] });
    }
    const explanation = await explain(service, runId);
    expect(explanation).toMatchObject({
      heldBy: ["code"],
      summary: 'Not running: its journal does not fit the code of version v2 at step "load" and it waits for other code.',
      estimatedStart: null,
    });
    expect(gateOf(explanation, "code").figures).toEqual({ step: "load", codeVersion: "v2", retryAt: null });
  });

  test("says that it is kept for the newest version when no worker of its own asks any more", async ({ service }) => {
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    await flow.end(await flow.take({ version: "v1" }), { outcome: "released" });
    const ask = (version: string) => flow.work({ worker: `w-${version}`, workflows: [flow.id], version });
    const waitsFor = async () => {
      const { heldBy, summary } = await explain(service, runId);
      return { heldBy, summary, waitingFor: (await flow.get(runId)).waitingFor };
    };
    const keptFor = (version: string) => ({
      heldBy: ["version"],
      summary: `Not running: it is kept for a worker of version ${version}.`,
      waitingFor: [{ type: "worker", version }],
    });
    await service.advance(60);
    for (const version of ["v2", "v3"]) await ask(version);
    expect(await waitsFor()).toEqual(keptFor("v1"));
    await service.advance(31);
    expect(await waitsFor()).toEqual(keptFor("v3"));
    expect((await ask("v2")).runs).toEqual([]);
    await service.advance(60);
    expect((await ask("v2")).runs).toMatchObject([{ runId }]);
  });

  test("says that it is kept for nobody when its version is gone and one version asks beside newer code without a version", async ({
    service,
  }) => {
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    await flow.end(await flow.take({ version: "v1" }), { outcome: "released" });
    await service.advance(59);
    await flow.work({ worker: "w-v2", workflows: [flow.id], version: "v2" });
    await service.advance(1);
    await flow.work({ worker: "w", workflows: [flow.id] });
    expect((await explain(service, runId)).heldBy).toEqual(["version"]);
    await service.advance(30.5);
    expect((await explain(service, runId)).heldBy).toEqual([]);
    expect((await flow.work({ worker: "w-v2", workflows: [flow.id], version: "v2" })).runs).toMatchObject([{ runId }]);
  });

  test("says when code without a version tries it again", async ({ service }) => {
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    await flow.end(await flow.take(), { outcome: "unfit", step: "load", error: "The journal has another step." });
    const retryAt = new Date(service.clock.nowMs() + 30_000).toISOString();
    const explanation = await explain(service, runId);
    expect(explanation).toMatchObject({
      heldBy: ["code"],
      summary: 'Not running: its journal does not fit the code at step "load" and it waits for other code and is tried again in 30 s.',
      estimatedStart: retryAt,
    });
    expect(gateOf(explanation, "code").figures).toEqual({ step: "load", codeVersion: null, retryAt });
    expect(gateOf(explanation, "due").figures).toEqual({ dueAt: null });
    await service.advance(91);
    const due = await explain(service, runId);
    expect(due).toMatchObject({
      heldBy: ["handler"],
      summary: "Not running: no worker has asked for its runs for 1 min 31 s.",
    });
    expect(gateOf(due, "code")).toMatchObject({
      holds: false,
      message: "Its journal did not fit the code and it is due to be tried again.",
    });
  });

  test("says that the circuit of its endpoint is open, and that its plan has none", async ({ service }) => {
    const { id, trigger } = await putWorkflow(service, { endpoint_url: ENDPOINT });
    const lane = await laneOfWorkflow(service, id);
    await putCircuit(service.database, lane, { inSeconds: 29 });
    const runId = await trigger();
    expect(await explain(service, runId)).toMatchObject({
      heldBy: ["circuit"],
      summary: expect.stringMatching(/^Not running: the circuit is open.* and the next probe goes out in 29 s\.$/),
    });
    await service.database.query("update workspace set plan = 'free' where id = $1", [lane.workspaceId]);
    expect((await explain(service, runId)).heldBy).toEqual(["plan", "circuit"]);
  });

  test("says how a run has ended, and that there is none of that id", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "completed", result: 1 });
    const { endedAt } = await get(runId);
    expect(await explain(service, runId)).toMatchObject({
      heldBy: ["state"],
      summary: "Completed just now, on attempt 1 of 3.",
      gates: [{ gate: "state", holds: true, figures: { status: "completed", endedAt } }],
      ahead: null,
      estimatedStart: null,
    });
    const absent = await service.api("GET", "/v1/runs/run_01kajv3k4ve6nsd9z5kgtzx0rw/explain");
    expect(absent).toMatchObject({ status: 404, body: { error: { code: "NOT_FOUND" } } });
  });

  test("says that its steps are still to be undone, and why they are not", async ({ service }) => {
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    const { lease_token } = await flow.take();
    const paid = { key: "pay", type: "run", status: "completed", output: 1, undoable: true };
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [paid] });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const summary = async () => (await explain(service, runId)).summary.replace(/^Cancelled .*?\. /, "");
    expect(await summary()).toBe("Its steps are still to be undone.");
    expect((await flow.get(runId)).waitingFor).toEqual([{ type: "undo", nextAttemptAt: null, lastError: null }]);
    const undo = await flow.take();
    expect(await summary()).toBe("Its steps are being undone.");
    await flow.end(undo, { outcome: "failed", error: "No refund." });
    expect(await summary()).toMatch(
      /^Its steps are still to be undone: the last try failed with WORKER_FAILED, and it is due in [12] s\.$/,
    );
    await service.advance(2);
    await flow.end(await flow.take(), { outcome: "completed" });
    expect(await explain(service, runId)).toMatchObject({ heldBy: ["state"], summary: "Cancelled 2 s ago." });
    expect((await flow.get(runId)).waitingFor).toEqual([]);
  });
});
