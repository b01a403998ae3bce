import { describe, expect } from "vitest";
import { ask } from "../harness/ask.ts";
import { makeKey } from "../harness/operator.ts";
import { type Service, test, until } from "../harness/service.ts";
import { proofOf, settle, take, takeOne, untilWaiting } from "../harness/workers.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

const LOST = { ok: false, code: "LEASE_LOST" };

/** A key that is bound to a queue, and a job of another queue that the worker `w1` took by the call `r1` of another key. */
async function boundKey(service: Service) {
  const [queue, other] = [await service.queue(), await service.queue()];
  const key = await makeKey(service, { role: "worker", queues: [queue] });
  await service.enqueue({ queue: other });
  const foreign = await takeOne(service, other, { request: "r1" });
  return { queue, foreign, as: (method: string, path: string, body?: unknown) => ask(service.node.url, key, method, path, body) };
}

describe("a key of role worker", () => {
  test("takes and settles jobs of its queues, and nothing else", async ({ service }) => {
    const [queue, other] = [await service.queue(), await service.queue()];
    const key = await makeKey(service, { role: "worker", queues: [queue] });
    const as = (method: string, path: string, body?: unknown) => ask(service.node.url, key, method, path, body);
    await service.enqueue({ queue });
    await service.enqueue({ queue: other });
    const taken = await as("POST", "/v1/work", { worker: "w1", queues: [queue] });
    expect(taken.body.jobs).toHaveLength(1);
    const refused = await as("POST", "/v1/work", { worker: "w1", queues: [other] });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: "FORBIDDEN", details: { queue: other } } } });
    const [foreign] = await take(service, other);
    const lie = { worker: "w1", queues: [], settle: [{ ...proofOf(foreign as never), outcome: "completed" }] };
    expect((await as("POST", "/v1/work", lie)).body.settled).toMatchObject([LOST]);
    expect((await as("GET", `/v1/queues/${queue}`)).status).toBe(403);
    expect((await as("POST", `/v1/queues/${queue}/jobs`, { payload: 1 })).status).toBe(403);
  });

  test("a call that waits ends when its key is revoked, and takes no job that comes later", async ({ service }) => {
    const queue = await service.queue();
    const key = await makeKey(service, { role: "worker" });
    const waiting = ask(service.node.url, key, "POST", "/v1/work", { worker: "w1", queues: [queue], wait: 30 });
    await untilWaiting(service, queue);
    const { data } = await service.ok("GET", "/v1/keys");
    await service.ok("DELETE", `/v1/keys/${data.find(({ role }: { role: string }) => role === "worker").id}`);
    await service.enqueue({ queue });
    expect((await waiting).body).toMatchObject({ jobs: [] });
    expect((await ask(service.node.url, key, "POST", "/v1/work", { worker: "w1", queues: [queue] })).status).toBe(401);
    expect(await take(service, queue)).toMatchObject([{ attempt: 1 }]);
  });

  test("a call that waits stays when another key is revoked", async ({ service }) => {
    const queue = await service.queue();
    const key = await makeKey(service, { role: "worker" });
    const { id, key: revoked } = await service.ok("POST", "/v1/keys", { name: "revoked", role: "worker" });
    const waiting = ask(service.node.url, key, "POST", "/v1/work", { worker: "w1", queues: [queue], wait: 20 });
    const ending = ask(service.node.url, revoked, "POST", "/v1/work", { worker: "w2", queues: [queue], wait: 20 });
    await until(async () => (await service.ok("GET", "/v1/workers")).data.length === 2, "the workers to call");
    await untilWaiting(service, queue);
    await service.ok("DELETE", `/v1/keys/${id}`);
    expect((await ending).body).toMatchObject({ jobs: [] });
    await service.enqueue({ queue });
    expect((await waiting).body.jobs).toHaveLength(1);
  });

  test("a call that waits ends before its key expires", async ({ service, clock }) => {
    const queue = await service.queue();
    const key = await makeKey(service, { role: "worker", expires_at: new Date(clock.nowMs() + 500).toISOString() });
    // It would wait for at least 20 s.
    const waiting = ask(service.node.url, key, "POST", "/v1/work", { worker: "w1", queues: [queue], wait: 30 });
    expect((await waiting).body).toMatchObject({ jobs: [] });
  });

  test("a key of role write takes no jobs: a template would show it secrets", async ({ service }) => {
    const queue = await service.queue();
    const key = await makeKey(service, { role: "write" });
    expect((await ask(service.node.url, key, "POST", "/v1/work", { worker: "w1", queues: [queue] })).status).toBe(403);
  });

  test("extends no lease of a queue that it is not bound to, whatever token it has", async ({ service }) => {
    const { as, queue, foreign } = await boundKey(service);
    await service.enqueue({ queue });
    const own = (await as("POST", "/v1/work", { worker: "w1", queues: [queue] })).body.jobs[0];
    const extended = await as("POST", "/v1/work/extend", { worker: "w1", leases: [proofOf(foreign), proofOf(own)], lease: 600 });
    expect(extended.body.leases).toMatchObject([
      { id: foreign.id, ok: false, lease_expires_at: null },
      { id: own.id, ok: true },
    ]);
    await service.advance(60);
    expect(await settle(service, own, { outcome: "completed" })).toMatchObject({ ok: true });
    await service.untilState({ queue: foreign.queue, id: foreign.id }, "delayed");
  });

  test("is told by the calls for one job that it is not bound to the queue, whether the job exists or not", async ({ service }) => {
    const { as, foreign } = await boundKey(service);
    const gone = "job_01kajv3k4ve6nsd9z5kgtzx0rw";
    for (const id of [foreign.id, gone]) {
      for (const verb of ["complete", "fail", "heartbeat"]) {
        const { status, body } = await as("POST", `/v1/queues/${foreign.queue}/jobs/${id}/${verb}`, { lease_token: foreign.lease_token });
        expect([status, body.error.code, body.error.details]).toEqual([403, "FORBIDDEN", { queue: foreign.queue }]);
      }
    }
    expect(await service.job({ queue: foreign.queue, id: foreign.id })).toMatchObject({ state: "active" });
  });

  test("gets no job of another queue by repeating a call of another key", async ({ service }) => {
    const { as, foreign } = await boundKey(service);
    const repeated = await as("POST", "/v1/work", { worker: "w1", queues: [], request: "r1" });
    expect([repeated.status, repeated.body.jobs]).toEqual([200, []]);
    expect(await take(service, foreign.queue, { request: "r1" })).toMatchObject([{ id: foreign.id }]);
  });

  test("shows the queues that it is bound to when it is created, in the list, and in the audit log", async ({ service }) => {
    const bound = { name: "mailer", role: "worker", queues: ["emails", "letters"] };
    const made = await service.ok("POST", "/v1/keys", bound);
    expect(made).toMatchObject(bound);
    const { data: keys } = await service.ok("GET", "/v1/keys");
    expect(keys.find(({ id }: { id: string }) => id === made.id)).toMatchObject(bound);
    const { data: events } = await service.ok("GET", "/v1/audit-events?resource_type=key");
    expect(events.find(({ resource_id }: { resource_id: string }) => resource_id === made.id)).toMatchObject({ input: bound });
  });
});

describe("a key of role worker that is bound to workflows", () => {
  test("registers and executes these, and serves nothing else", async ({ service }) => {
    const [own, other, queue] = [await putWorkflow(service), await putWorkflow(service), await service.queue()];
    const key = await makeKey(service, { role: "worker", workflows: [own.id] });
    const as = (method: string, path: string, body?: unknown) => ask(service.node.url, key, method, path, body);
    expect((await as("PUT", `/v1/workflows/${own.id}`, {})).status).toBe(200);
    const refusals = [
      ["PUT", `/v1/workflows/${other.id}`, {}, { workflow: other.id }],
      ["POST", "/v1/work", { worker: "w1", queues: [], workflows: [own.id, other.id] }, { workflow: other.id }],
      ["POST", "/v1/work", { worker: "w1", queues: [queue] }, { queue }],
      ["POST", `/v1/queues/${queue}/jobs/claim`, { worker: "w1" }, { queue }],
    ] as const;
    for (const [method, path, body, details] of refusals)
      expect(await as(method, path, body)).toMatchObject({ status: 403, body: { error: { code: "FORBIDDEN", details } } });
    const runId = await own.trigger();
    const taken = await as("POST", "/v1/work", { worker: "w1", queues: [], workflows: [own.id] });
    expect(taken.body.runs).toMatchObject([{ runId }]);
    const { lease_token } = taken.body.runs[0];
    expect((await as("POST", "/v1/work/extend", { worker: "w1", leases: [{ id: runId, lease_token }] })).body.leases).toMatchObject([
      { ok: true },
    ]);
    const done = { worker: "w1", queues: [], settle: [{ id: runId, lease_token, outcome: "completed", result: 1 }] };
    expect((await as("POST", "/v1/work", done)).body.settled).toMatchObject([{ ok: true }]);
  });

  test("settles and extends no run of another workflow, and no job, whatever token it has", async ({ service }) => {
    const [own, other, queue] = [await putWorkflow(service), await putWorkflow(service), await service.queue()];
    const key = await makeKey(service, { role: "worker", workflows: [own.id] });
    const as = (method: string, path: string, body?: unknown) => ask(service.node.url, key, method, path, body);
    await service.enqueue({ queue });
    await other.trigger();
    const [run, job] = [await other.take(), await takeOne(service, queue)];
    const foreign = [{ id: run.runId, lease_token: run.lease_token }, proofOf(job)];
    const lies = foreign.map((one) => ({ ...one, outcome: "completed" }));
    const repeatable = { worker: "w1", queues: [], request: "r1", settle: lies };
    expect((await as("POST", "/v1/work", repeatable)).body.settled).toMatchObject([LOST, LOST]);
    expect((await as("POST", "/v1/work/extend", { worker: "w1", leases: foreign })).body.leases).toMatchObject([
      { ok: false },
      { ok: false },
    ]);
    expect(await other.get(run.runId)).toMatchObject({ status: "running" });
    const { lease_token } = run;
    const report = { lease_token, steps: [{ key: "a", type: "run", status: "completed" }] };
    const child = { lease_token, key: "b", workflow: own.id, timeout: 1_000 };
    expect((await as("POST", `/v1/runs/${run.runId}/steps`, report)).body.error).toMatchObject({ code: "LEASE_LOST" });
    const { body: together } = await as("POST", "/v1/work/steps", {
      reports: [{ id: run.runId, lease_token }],
      steps: [{ report: 0, ...report.steps[0] }],
    });
    expect(together.reports).toMatchObject([LOST]);
    expect((await as("GET", `/v1/runs/${run.runId}/journal?lease_token=${lease_token}`)).body.error).toMatchObject({ code: "LEASE_LOST" });
    for (const [path, body] of [
      ["invocations", child],
      ["events", { lease_token, key: "c", name: "e" }],
      ["signals", { lease_token, key: "d", signal: "s" }],
    ] as const)
      expect((await as("POST", `/v1/runs/${run.runId}/${path}`, body)).body.error).toMatchObject({ code: "LEASE_LOST" });
    expect(await other.get(run.runId)).toMatchObject({ steps: [] });
    await other.end(run, { outcome: "completed" });
    expect((await as("POST", "/v1/work", repeatable)).body.settled).toMatchObject([LOST, LOST]);
    const { laneId } = await laneOfWorkflow(service, own.id);
    const ofOwnLane = run.lease_token.replace(/-\w+-/, `-${laneId.toString(36)}-`);
    const edited = { ...repeatable, settle: [{ id: run.runId, lease_token: ofOwnLane, outcome: "completed" }] };
    expect((await as("POST", "/v1/work", edited)).body.settled).toMatchObject([LOST]);
  });

  test("that is bound to a queue executes no workflow, also not one of that queue's name", async ({ service }) => {
    const workflow = await putWorkflow(service);
    await service.ok("POST", "/v1/queues", { name: workflow.id });
    const key = await makeKey(service, { role: "worker", queues: [workflow.id] });
    const as = (method: string, path: string, body?: unknown) => ask(service.node.url, key, method, path, body);
    expect((await as("POST", "/v1/work", { worker: "w1", queues: [], workflows: [workflow.id] })).status).toBe(403);
    await workflow.trigger();
    const { runId: id, lease_token } = await workflow.take();
    const lie = { worker: "w1", queues: [], settle: [{ id, lease_token, outcome: "completed" }] };
    expect((await as("POST", "/v1/work", lie)).body.settled).toMatchObject([LOST]);
  });

  test("may be bound to queues too; only a worker's key is bound at all", async ({ service }) => {
    const bound = { name: "mailer", role: "worker", queues: ["emails"], workflows: ["user.onboard"] };
    expect(await service.ok("POST", "/v1/keys", bound)).toMatchObject(bound);
    const refused = await service.api("POST", "/v1/keys", { ...bound, queues: null, role: "write" });
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { issues: [{ path: "workflows" }] } } } });
  });
});
