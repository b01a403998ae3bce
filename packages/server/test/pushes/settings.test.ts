import { describe, expect } from "vitest";
import { isSigned } from "../harness/handler.ts";
import { limitedTo } from "../harness/limits.ts";
import { makeKey, operate } from "../harness/operator.ts";
import { pushedWorkflow, SECRET } from "../harness/pushes.ts";
import { type Service, test, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const COMPLETED = { outcome: "completed" };
const GENERATED = /^cbs_[A-Za-z0-9_-]{43}$/;
const OTHER = `cbs_${"t".repeat(43)}`;

const put = (service: Service, id: string, settings: object) => service.ok("PUT", `/v1/workflows/${id}`, settings);

describe("the signing secret", () => {
  test("is generated with the first endpoint_url, and shown once", async ({ service }) => {
    const { id, program } = await pushedWorkflow(service, () => COMPLETED, { endpoint_url: null, endpoint_secret: undefined });
    expect(await service.ok("GET", `/v1/workflows/${id}`)).toMatchObject({ endpoint_url: null, has_endpoint_secret: false });
    const first = await put(service, id, { endpoint_url: program.url });
    expect(first).toMatchObject({
      endpoint_url: program.url,
      has_endpoint_secret: true,
      endpoint_secret: expect.stringMatching(GENERATED),
    });
    expect(await put(service, id, { endpoint_url: program.url })).not.toHaveProperty("endpoint_secret");
    const shown = JSON.stringify([await service.ok("GET", `/v1/workflows/${id}`), await service.ok("GET", "/v1/workflows")]);
    expect(shown).not.toContain(first.endpoint_secret);
    await service.ok("POST", `/v1/workflows/${id}/trigger`, {});
    await until(() => program.received.length === 1, "the run to be executed");
    expect(program.received.map((one) => isSigned(one, first.endpoint_secret))).toEqual([true]);
  });

  test("is rotated, given, and kept while workers serve the workflow", async ({ service }) => {
    const { id, program, trigger } = await pushedWorkflow(service, () => COMPLETED);
    const signedBy = async (secret: string) => {
      const before = program.received.length;
      await trigger();
      await until(() => program.received.length > before, "the run to be executed");
      const received = program.received.at(-1);
      return received !== undefined && isSigned(received, secret);
    };
    expect(await signedBy(SECRET)).toBe(true);
    const rotated = await put(service, id, { endpoint_url: program.url, rotate_endpoint_secret: true });
    expect(await signedBy(rotated.endpoint_secret)).toBe(true);
    const given = await put(service, id, { endpoint_url: program.url, endpoint_secret: OTHER });
    expect(given).not.toHaveProperty("endpoint_secret");
    expect(await signedBy(OTHER)).toBe(true);
    expect(await put(service, id, {})).toMatchObject({ endpoint_url: null, has_endpoint_secret: true });
    expect(await put(service, id, { endpoint_url: program.url })).not.toHaveProperty("endpoint_secret");
    expect(await signedBy(OTHER)).toBe(true);
  });

  test("cannot be given and rotated", async ({ service }) => {
    const reply = await service.api("PUT", "/v1/workflows/a", {
      endpoint_url: "https://example.com/",
      endpoint_secret: OTHER,
      rotate_endpoint_secret: true,
    });
    expect([reply.status, reply.body.error.details.issues]).toEqual([
      400,
      [{ path: "rotate_endpoint_secret", message: "must not be given with endpoint_secret" }],
    ]);
  });

  test("is not in the audit log, nor is the query of the address", async ({ service }) => {
    const { id, program } = await pushedWorkflow(service, () => COMPLETED);
    await put(service, id, { endpoint_url: `${program.url}?token=t0ken`, rotate_endpoint_secret: true });
    const { data } = await service.ok("GET", "/v1/audit-events?resource_type=workflow");
    expect(data).toMatchObject([
      { event_type: "workflow.updated", input: { endpoint_url: `${program.url}?…` }, output: { secret_made: true } },
      { event_type: "workflow.created", input: { endpoint_url: program.url, secret_given: true }, output: null },
    ]);
    expect(JSON.stringify(data)).not.toMatch(/cbs_|t0ken/);
  });
});

describe("who executes runs", () => {
  test("changes at once, also for runs that wait", async ({ service }) => {
    const { id, program, trigger, take, end, untilStatus } = await pushedWorkflow(service, () => COMPLETED, { endpoint_url: null });
    const waiting = await trigger();
    await put(service, id, { endpoint_url: program.url });
    await untilStatus(waiting, "completed");
    const refused = await service.api("POST", "/v1/work", { worker: "w1", queues: [], workflows: [id] });
    expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
      409,
      "INVALID_STATE",
      `The workflow "${id}" has an endpoint_url: its runs are executed there, and workers cannot take them.`,
    ]);
    await put(service, id, {});
    const pulled = await trigger();
    const run = await take();
    expect(run.runId).toBe(pulled);
    expect(await end(run, COMPLETED)).toMatchObject({ ok: true });
    expect(program.received).toHaveLength(1);
  });

  test("is a worker after a suspension at an endpoint, with the same journal", async ({ service }) => {
    const nap = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };
    const workflow = await pushedWorkflow(service, () => ({ outcome: "suspended", steps: [nap] }));
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "sleeping");
    await put(service, workflow.id, {});
    await service.advance(60);
    expect(await workflow.take()).toMatchObject({ runId, attempt: 1, journal: [{ key: "nap", status: "completed" }] });
  });
});

describe("a plan without callbacks", () => {
  test("refuses an endpoint_url", async ({ service }) => {
    const free = await limitedTo(service, {}, "free");
    const reply = await free.api("PUT", "/v1/workflows/a", { endpoint_url: "https://example.com/" });
    expect([reply.status, reply.body.error.code]).toEqual([403, "PLAN_REQUIRED"]);
    expect((await free.api("GET", "/v1/workflows/a")).status).toBe(404);
    expect((await free.api("PUT", "/v1/workflows/a", { endpoint_url: null })).status).toBe(201);
  });

  test("stops executions, which wait until the plan has callbacks again", async ({ service }) => {
    const setPlan = (plan: string) => operate(service, "PATCH", `/admin/v1/workspaces/${service.workspaceId}`, { plan });
    const workflow = await pushedWorkflow(service, () => COMPLETED);
    await setPlan("free");
    const runId = await workflow.trigger();
    await until(
      async () => (await service.ok("GET", `/v1/workflows/${workflow.id}`)).endpoint_stopped?.code === "PLAN_REQUIRED",
      "the plan to be noticed",
    );
    expect(await workflow.get(runId)).toMatchObject({ status: "pending" });
    expect(workflow.program.received).toEqual([]);
    const { status, checks } = await service.ok("GET", "/v1/status");
    expect([status, checks[1].message]).toEqual([
      "degraded",
      expect.stringMatching(/^The plan has no callbacks\..* Workflows that wait for them: 1\.$/),
    ]);
    await setPlan("pro");
    await workflow.untilStatus(runId, "completed");
    await until(async () => (await service.ok("GET", `/v1/workflows/${workflow.id}`)).endpoint_stopped === null, "the plan to be noticed");
  });
});

test("a key that is bound to queues may not register workflows, nor say where their runs are executed", async ({ service }) => {
  const queue = await service.queue();
  const authorization = `Bearer ${await makeKey(service, { role: "worker", queues: [queue] })}`;
  const reply = await service.api("PUT", "/v1/workflows/a", { endpoint_url: "https://example.com/" }, { authorization });
  expect([reply.status, reply.body.error]).toEqual([
    403,
    { code: "FORBIDDEN", message: 'The key is not bound to the workflow "a".', details: { workflow: "a" } },
  ]);
});

test("an address that callbacks may not reach is refused", async ({ service }) => {
  for (const endpoint_url of ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[fe80::1]/"]) {
    const reply = await service.api("PUT", "/v1/workflows/a", { endpoint_url });
    expect([reply.status, reply.body.error.details.issues[0]]).toEqual([
      400,
      { path: "endpoint_url", message: expect.stringContaining("where callbacks may not go") },
    ]);
  }
});

test("a name that resolves to a private address is not called", async ({ service }) => {
  const { id } = await putWorkflow(service, { endpoint_url: "http://private.invalid/", attempts: 1 });
  const { runIds } = await service.ok("POST", `/v1/workflows/${id}/trigger`, {});
  const get = () => service.ok("GET", `/v1/runs/${runIds[0]}`);
  await until(async () => (await get()).error !== null, "the run to be tried");
  expect(await get()).toMatchObject({
    status: "running",
    attempt: 1,
    error: { name: "DNS", message: "The name of the host cannot be resolved." },
  });
});
