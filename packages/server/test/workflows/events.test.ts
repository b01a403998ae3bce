import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { operationsOf } from "../harness/api-doc.ts";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { newWorkspace, Service, test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const send = (service: Service, event: object) => service.ok("POST", "/v1/events", event);

describe("an event", () => {
  test("starts a run of each workflow that listens to it, with its data as input", async ({ service }) => {
    const [mail, bill, other] = [
      await putWorkflow(service, { events: ["user.created"] }),
      await putWorkflow(service, { events: ["order.paid", "user.created"] }),
      await putWorkflow(service, { events: ["order.paid"] }),
    ];
    const { status, body } = await service.api("POST", "/v1/events", {
      name: "user.created",
      data: { userId: "u1" },
      ts: 1_795_426_200_000,
    });
    expect([status, body]).toEqual([
      202,
      { eventId: expect.stringMatching(/^evt_/), runIds: [expect.any(String), expect.any(String)], duplicate: false },
    ]);
    const trigger = { type: "event", eventId: body.eventId, name: "user.created", ts: 1_795_426_200_000 };
    const runs = [await mail.take(), await bill.take()];
    expect(runs.map(({ runId }) => runId).sort()).toEqual([...body.runIds].sort());
    for (const run of runs) expect(run).toMatchObject({ input: { userId: "u1" }, trigger });
    expect((await other.work({ workflows: [other.id] })).runs).toEqual([]);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(2);
  });

  test("happened now unless it says when, in whole milliseconds (Workflow behavior 4)", async ({ service }) => {
    const { take } = await putWorkflow(service, { events: ["a"] });
    await service.clock.advance(0.0005);
    await send(service, { name: "a" });
    expect((await take()).trigger).toMatchObject({ ts: Math.trunc(service.clock.nowMs()) });
  });

  test("that nobody listens to starts nothing", async ({ service }) => {
    expect(await send(service, { name: "user.created" })).toMatchObject({ runIds: [], duplicate: false });
  });

  test("starts nothing for a workflow that was registered without it since, or deleted", async ({ service }) => {
    const [changed, deleted] = [await putWorkflow(service, { events: ["a"] }), await putWorkflow(service, { events: ["a"] })];
    expect(await service.ok("PUT", `/v1/workflows/${changed.id}`, { events: ["b"] })).toMatchObject({ events: ["b"] });
    await service.api("DELETE", `/v1/workflows/${deleted.id}`);
    expect((await send(service, { name: "a" })).runIds).toEqual([]);
  });

  test("starts nothing in another workspace", async ({ service }) => {
    await putWorkflow(service, { events: ["a"] });
    const other = new Service(service.node, service.database, service.clock, await newWorkspace(service.database));
    expect((await send(other, { name: "a" })).runIds).toEqual([]);
  });

  test("keeps all digits of its numbers", async ({ service }) => {
    const { trigger: _, take } = await putWorkflow(service, { events: ["a"] });
    const body = '{"name":"a","data":{"n":12345678901234567890,"price":1.0}}';
    const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
    await fetch(`${service.node.url}/v1/events`, { method: "POST", headers, body });
    const { runId } = await take();
    const text = await (await fetch(`${service.node.url}/v1/runs/${runId}`, { headers })).text();
    expect(text).toContain('"input":{"n":12345678901234567890,"price":1.0}');
  });

  for (const name of ["user/created", "User.created", "user..created", ".user", ""]) {
    test(`has no name like ${JSON.stringify(name)} (Workflow behavior 5)`, async ({ service }) => {
      const { status, body } = await service.api("POST", "/v1/events", { name });
      expect([status, body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(body.error.message).toContain("slashes are not allowed");
    });
  }

  test("that is larger than a job may be is refused", async ({ service }) => {
    const { status, body } = await service.api("POST", "/v1/events", { name: "a", data: "x".repeat(1024 * 1024) });
    expect([status, body.error.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
  });
});

describe("an event with an idempotency key", () => {
  test("starts its runs once, also when it is sent several times at once", async ({ service }) => {
    const { id } = await putWorkflow(service, { events: ["a"] });
    const replies = await Promise.all([1, 2, 3].map(() => send(service, { name: "a", data: { x: 1, y: 2 }, idempotencyKey: "k" })));
    expect(replies.map(({ duplicate }) => duplicate).sort()).toEqual([false, true, true]);
    expect(new Set(replies.map(({ eventId, runIds }) => `${eventId} ${runIds}`)).size).toBe(1);
    expect((await service.ok("GET", `/v1/runs?workflowId=${id}`)).data).toHaveLength(1);
  });

  test("is a duplicate with its members in another order and another time, and not with another key", async ({ service }) => {
    await putWorkflow(service, { events: ["a"] });
    const first = await send(service, { name: "a", data: { x: 1, y: 2 }, ts: 1, idempotencyKey: "k" });
    expect(await send(service, { name: "a", data: { y: 2, x: 1 }, ts: 2, idempotencyKey: "k" })).toEqual({ ...first, duplicate: true });
    expect((await send(service, { name: "a", data: { x: 1, y: 2 }, idempotencyKey: "l" })).runIds).not.toEqual(first.runIds);
  });

  for (const change of [{ data: 2 }, { name: "b" }]) {
    test(`is refused with another ${Object.keys(change)}`, async ({ service }) => {
      await send(service, { name: "a", data: 1, idempotencyKey: "k" });
      const { status, body } = await service.api("POST", "/v1/events", { name: "a", data: 1, idempotencyKey: "k", ...change });
      expect([status, body.error.code]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
    });
  }
});

describe("an event of a workspace whose executions do not suffice for all of its runs", () => {
  test("starts none of them, and leaves its key free", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const workflows = [await putWorkflow(limited, { events: ["a"] }), await putWorkflow(limited, { events: ["a"] })];
    const { status, body } = await limited.api("POST", "/v1/events", { name: "a", idempotencyKey: "k" });
    expect([status, body.error.code]).toEqual([402, "QUOTA_EXCEEDED"]);
    expect((await limited.ok("GET", "/v1/runs")).data).toEqual([]);
    await limited.api("DELETE", `/v1/workflows/${workflows[0]?.id}`);
    expect(await send(limited, { name: "a", idempotencyKey: "k" })).toMatchObject({ duplicate: false, runIds: [expect.any(String)] });
  });

  test("is refused with a known key too", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    await putWorkflow(limited, { events: ["a"] });
    await send(limited, { name: "a", idempotencyKey: "k" });
    expect((await limited.api("POST", "/v1/events", { name: "a", idempotencyKey: "k" })).status).toBe(402);
  });
});

describe("an event starts at most 100 workflows", () => {
  test("one more cannot be registered with it, also when they come at the same time", async ({ service }) => {
    const put = () => service.api("PUT", `/v1/workflows/wf-${randomUUID()}`, { events: ["a"] });
    for (let n = 0; n < 98; n += 1) expect((await put()).status).toBe(201);
    const replies = await Promise.all([put(), put(), put()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 400]);
    const refused = replies.find(({ status }) => status === 400);
    expect(refused?.body.error).toMatchObject({
      code: "VALIDATION_ERROR",
      message: expect.stringContaining("already starts 100 workflows, which is the limit"),
    });
    expect((await send(service, { name: "a" })).runIds).toHaveLength(100);
  });
});

describe("a step that sends an event", () => {
  const sendStep = (service: Service, { runId, lease_token }: { runId: string; lease_token: string }, body: object) =>
    service.api("POST", `/v1/runs/${runId}/events`, { lease_token, key: "tell", name: "a", ...body });

  test("sends it once, and is in the journal with what it started", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const listener = await putWorkflow(service, { events: ["a"] });
    await trigger();
    const run = await take();
    const first = await sendStep(service, run, { data: 1 });
    expect(first.body).toEqual({ eventId: expect.stringMatching(/^evt_/), runIds: [expect.stringMatching(/^run_/)] });
    expect((await sendStep(service, run, { data: 2 })).body).toEqual(first.body);
    expect((await get(run.runId)).steps).toMatchObject([{ key: "tell", type: "event", status: "completed", output: first.body }]);
    expect(await listener.take()).toMatchObject({ input: 1, trigger: { type: "event", name: "a" } });
    expect((await service.ok("GET", `/v1/runs?workflowId=${listener.id}`)).data).toHaveLength(1);
  });

  test("sends nothing when its run was cancelled", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    const listener = await putWorkflow(service, { events: ["a"] });
    await trigger();
    const run = await take();
    await service.ok("POST", `/v1/runs/${run.runId}/cancel`);
    expect((await sendStep(service, run, {})).body.error.code).toBe("LEASE_LOST");
    expect((await listener.work({ workflows: [listener.id] })).runs).toEqual([]);
  });

  test("sends it though the requests of the workspace are used up", async ({ service }) => {
    const limited = await limitedTo(service, {});
    const { trigger, take } = await putWorkflow(limited);
    await trigger();
    const run = await take();
    await setLimits(limited, { requests_per_minute: 1 });
    await expect.poll(async () => (await limited.api("GET", "/v1/queues")).status).toBe(429);
    expect((await sendStep(limited, run, {})).status).toBe(200);
    expect((await limited.api("POST", "/v1/events", { name: "a" })).status).toBe(429);
  });

  test("that the quota refuses is not in the journal", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const { trigger, take, get } = await putWorkflow(limited);
    await putWorkflow(limited, { events: ["a"] });
    await trigger();
    const run = await take();
    expect((await sendStep(limited, run, {})).body.error.code).toBe("QUOTA_EXCEEDED");
    expect((await get(run.runId)).steps).toEqual([]);
  });

  test.for([
    ["of another type", { type: "run", status: "completed", output: 1 }],
    ["that failed", { type: "event", status: "failed", error: { name: "E", message: "No." } }],
  ] as const)("is refused with the key of a step %s, and /doc says so", async ([, step], { service }) => {
    const { trigger, take } = await putWorkflow(service);
    await trigger();
    const run = await take();
    await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [{ key: "tell", ...step }] });
    const { status, body } = await sendStep(service, run, {});
    const operation = (await operationsOf(service)).find(({ id }) => id === "sendStepEvent");
    const documented = operation?.responses[status]?.content?.["application/json"]?.examples ?? {};
    expect([status, body.error.code, Object.keys(documented)]).toEqual([409, "CONFLICT", expect.arrayContaining(["CONFLICT"])]);
  });

  test("is not reported as completed: the service stores it", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    await trigger();
    const { runId, lease_token } = await take();
    const steps = [{ key: "tell", type: "event", status: "completed" }];
    expect((await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps })).status).toBe(400);
  });
});
