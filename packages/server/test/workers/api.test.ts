import { describe, expect } from "vitest";
import { test, until } from "../harness/service.ts";
import { proofOf, settle, take, takeOne, work } from "../harness/workers.ts";
import { putWorkflow } from "../harness/workflows.ts";

const at = (queue: string, id: string, verb: string) => `/v1/queues/${queue}/jobs/${id}/${verb}`;

describe("the calls for one job", () => {
  test("claim takes jobs, complete settles one", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const { jobs } = await service.ok("POST", `/v1/queues/${queue}/jobs/claim`, { worker: "curl" });
    const { lease_token } = jobs[0];
    await service.ok("POST", at(queue, id, "complete"), { lease_token, result: [1] });
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: [1] });
    const again = await service.api("POST", at(queue, id, "complete"), { lease_token });
    expect([again.status, again.body.error.code]).toEqual([409, "LEASE_LOST"]);
  });

  test("fail reports a failure, heartbeat extends the lease", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const { lease_token } = await takeOne(service, queue);
    expect(await service.ok("POST", at(queue, id, "heartbeat"), { lease_token, lease: 60 })).toMatchObject({ leases: [{ id, ok: true }] });
    await service.ok("POST", at(queue, id, "fail"), { lease_token, error: "bad", retry: false });
    expect(await service.job({ queue, id })).toMatchObject({ state: "failed", last_error: { code: "WORKER_FAILED", message: "bad" } });
    expect((await service.api("POST", at(queue, id, "heartbeat"), { lease_token })).status).toBe(409);
  });

  test("a job of another queue's path is not settled", async ({ service }) => {
    const [queue, other] = [await service.queue(), await service.queue()];
    const [{ id }, { id: neighbour }] = [await service.enqueue({ queue }), await service.enqueue({ queue: other })];
    const { lease_token } = await takeOne(service, queue);
    for (const verb of ["complete", "fail", "heartbeat"]) {
      expect((await service.api("POST", at(other, id, verb), { lease_token })).status).toBe(404);
      expect((await service.api("POST", at(other, neighbour, verb), { lease_token })).status).toBe(409);
    }
    expect(await service.job({ queue, id })).toMatchObject({ state: "active" });
  });
});

describe("bad input", () => {
  test.for([
    [{ worker: "" }, "worker"],
    [{ limit: 501 }, "limit"],
    [{ limit: 0 }, "limit"],
    [{ wait: 31 }, "wait"],
    [{ lease: 0 }, "lease"],
    [{ queues: ["a", "a"] }, "queues"],
    [{ queues: ["no spaces"] }, "queues[0]"],
    [{ extra: 1 }, "extra"],
    [{ settle: [{ id: "job_1" }] }, "settle[0].lease_token"],
    [{ settle: [{ id: "job_01kajv3k4ve6nsd9z5kgtzx0rw", lease_token: "a", outcome: "done" }] }, "settle[0].outcome"],
  ] as const)("%j is refused, and the error names %s", async ([body, path], { service }) => {
    const reply = await service.api("POST", "/v1/work", { worker: "w1", queues: [], ...body });
    expect([reply.status, reply.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(reply.body.error.details.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  test("an outcome that is wrong does not keep others from being stored", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 3; n += 1) await service.enqueue({ queue });
    const jobs = await take(service, queue, { limit: 3 });
    const [large, odd, good] = jobs.map(proofOf);
    const { settled } = await work(service, {
      settle: [
        { ...large, outcome: "completed", result: "x".repeat(70_000) },
        { ...odd, outcome: "completed", error: "but" },
        { ...good, outcome: "completed" },
      ],
    });
    expect(settled.map(({ ok, code }) => [ok, code])).toEqual([
      [false, "PAYLOAD_TOO_LARGE"],
      [false, "VALIDATION_ERROR"],
      [true, null],
    ]);
    expect(await settle(service, jobs[0] as never, { outcome: "failed", error: "too large" })).toMatchObject({ ok: true });
  });

  test("queues and the worker's name may be left out where they say nothing", async ({ service }) => {
    const { id, trigger } = await putWorkflow(service);
    await trigger();
    const { runs } = await service.ok("POST", "/v1/work", { worker: "w1", workflows: [id] });
    const leases = runs.map(({ runId, lease_token }: { runId: string; lease_token: string }) => ({ id: runId, lease_token }));
    expect(await service.ok("POST", "/v1/work/extend", { leases })).toMatchObject({ leases: [{ id: runs[0].runId, ok: true }] });
    const claimed = await service.ok("POST", "/v1/work", { worker: "w1" });
    expect(claimed).toMatchObject({ jobs: [], runs: [] });
  });

  test("an error of any length is stored, cut", async ({ service }) => {
    const queue = await service.queue();
    const { id, trigger, take: takeRun, end, get } = await putWorkflow(service, { attempts: 1 });
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const runId = await trigger();
    const outcome = { outcome: "failed", retry: false, error: "x".repeat(1_000_000) };
    expect(await settle(service, job, outcome)).toMatchObject({ ok: true });
    expect((await service.job({ queue, id: job.id })).last_error.message).toBe(`${"x".repeat(1_000)}…`);
    expect(await end(await takeRun(), outcome)).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ workflowId: id, status: "failed", error: { message: `${"x".repeat(16_384)}…` } });
  });

  test("a refused outcome does not keep the call from taking a job", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    const { settled, jobs } = await work(service, {
      queues: [queue],
      settle: [{ ...proofOf(job), lease_token: "wrong", outcome: "completed" }],
    });
    expect(settled).toMatchObject([{ ok: false, code: "LEASE_LOST" }]);
    expect(jobs).toMatchObject([{ attempt: 1 }]);
  });

  test("a result that is too large for one job is refused with the limit", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const { id, lease_token } = await takeOne(service, queue);
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs/${id}/complete`, { lease_token, result: "x".repeat(70_000) });
    expect(reply).toMatchObject({ status: 413, body: { error: { code: "PAYLOAD_TOO_LARGE", details: { limit_bytes: 65_536 } } } });
  });

  test("numbers of a result stay as they were sent", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const { id, lease_token } = await takeOne(service, queue);
    const body = `{"worker":"w1","queues":[],"settle":[{"id":"${id}","lease_token":"${lease_token}","outcome":"completed","result":12345678901234567890}]}`;
    expect((await service.api("POST", "/v1/work", body)).body.settled).toMatchObject([{ ok: true }]);
    expect((await service.api("GET", `/v1/queues/${queue}/jobs/${id}`)).text).toContain('"result":12345678901234567890');
  });
});

describe("the list of workers", () => {
  test("names each with its queues, version and what it holds", async ({ service }) => {
    const queue = await service.queue();
    for (let n = 0; n < 2; n += 1) await service.enqueue({ queue });
    await take(service, queue, { worker: "b", version: "1.2.0", limit: 2 });
    await take(service, queue, { worker: "a" });
    const { data, next_cursor } = await service.ok("GET", "/v1/workers?limit=1");
    expect(data).toMatchObject([{ name: "a", version: null, queues: [queue], in_flight: 0 }]);
    const rest = await service.ok("GET", `/v1/workers?cursor=${next_cursor}`);
    expect(rest.data).toMatchObject([{ name: "b", version: "1.2.0", queues: [queue], in_flight: 2 }]);
    expect(rest.next_cursor).toBeNull();
  });

  test("names the workflows of each", async ({ service }) => {
    const [one, other] = [await putWorkflow(service), await putWorkflow(service)];
    await one.trigger();
    const run = await one.take();
    const listed = async () => (await service.ok("GET", "/v1/workers")).data[0];
    expect(await listed()).toMatchObject({ name: "w1", queues: [], workflows: [one.id], in_flight: 1 });
    await one.end(run, { outcome: "completed" });
    const asked = async () => {
      await other.work({ workflows: [other.id] });
      await service.advance(60);
      return (await listed()).workflows;
    };
    expect(await asked()).toContain(one.id);
    await until(async () => !(await asked()).includes(one.id), "what it no longer asks for to be forgotten");
    expect(await listed()).toMatchObject({ queues: [], workflows: [other.id], in_flight: 0 });
  });

  test("does not name queues and workflows that do not exist", async ({ service }) => {
    const settled = [{ id: "job_01kajv3k4ve6nsd9z5kgtzx0rw", lease_token: "wrong", outcome: "completed" }];
    expect(await work(service, { queues: ["none"], workflows: ["none"], settle: settled })).toMatchObject({ jobs: [], runs: [] });
    expect((await service.ok("GET", "/v1/workers")).data).toMatchObject([{ name: "w1", queues: [], workflows: [] }]);
  });

  test("keeps the queues of a worker when it only settles", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const job = await takeOne(service, queue);
    await service.advance(60);
    await settle(service, job, { outcome: "completed" });
    const listed = async () => (await service.ok("GET", "/v1/workers")).data[0];
    await service.advance(60);
    await until(async () => (await listed()).last_seen_at > job.lease_expires_at, "the last call to be written");
    expect(await listed()).toMatchObject({ name: "w1", queues: [queue] });
  });
});
