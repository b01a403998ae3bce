import type { TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { audited } from "../harness/audit-events.ts";
import { test as base } from "../harness/engine.ts";
import { Handler } from "../harness/handler.ts";
import { joinedBy } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";
import { whileUnreadable } from "../harness/unreadable-secrets.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const SECRET = "s3cr3t-value-of-the-token";
const INPUT = { auth: "Bearer ${{ secrets.TOKEN }}", id: 1 };

const put = (service: Service, more: object = {}, name = "TOKEN", value = SECRET) =>
  service.ok("POST", "/v1/secrets", { name, value, ...more });
const suspended = (...steps: object[]) => ({ outcome: "suspended", steps });
const ran = (key: string, output: unknown) => ({ key, type: "run", status: "completed", output });
const stored = async (service: Service, runId: string) => (await service.api("GET", `/v1/runs/${runId}`)).text;

const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"server", Handler>("server", async ({}, { onCleanup }) => {
    const server = await Handler.listen(200);
    onCleanup(() => server.close());
    return server;
  });

const report = (service: Service, { runId, lease_token }: TakenRun, ...steps: object[]) =>
  service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });

describe("templates in the input of a run", () => {
  test("are filled in when a worker takes the run, and never stored", async ({ service, flow }) => {
    await put(service);
    const runId = await flow.trigger({ input: INPUT });
    expect((await flow.take()).input).toEqual({ auth: `Bearer ${SECRET}`, id: 1 });
    expect(await flow.get(runId)).toMatchObject({ input: INPUT });
    const found = await service.database.query("select from run where input like '%s3cr3t%'");
    expect(found).toEqual([]);
  });

  test("have the value that is current at each execution", async ({ service, flow }) => {
    await put(service);
    await flow.trigger({ input: INPUT });
    await flow.end(await flow.take(), { outcome: "released" });
    await service.ok("PATCH", "/v1/secrets/TOKEN", { value: "another" });
    expect((await flow.take()).input).toMatchObject({ auth: "Bearer another" });
  });

  test("leave a result of more than 64 KiB whole, without the secret", async ({ service, flow }) => {
    await put(service);
    const runId = await flow.trigger({ input: INPUT });
    const result = { token: SECRET, text: "x ".repeat(50_000) };
    expect(await flow.end(await flow.take(), { outcome: "completed", result })).toMatchObject({ ok: true });
    expect((await flow.get(runId)).result).toEqual({ ...result, token: "[secret:TOKEN]" });
  });

  test("make a result that cannot be searched for the secret be refused, and no other outcome of the call", async ({ service, flow }) => {
    await put(service, {}, "TOKEN", "k3y9");
    await flow.trigger({ input: INPUT });
    const full = await flow.take();
    const other = await flow.trigger({ input: 1 });
    const plain = await flow.take();
    // A mark is longer than the secret: together more than 1 MiB.
    const result = "k3y9 ".repeat(200_000);
    const settle = [
      { id: full.runId, lease_token: full.lease_token, outcome: "completed", result },
      { id: other, lease_token: plain.lease_token, outcome: "completed", result: 2 },
    ];
    const { settled } = await flow.work({ settle });
    expect(settled).toMatchObject([{ ok: false, code: "PAYLOAD_TOO_LARGE" }, { ok: true }]);
    expect((await flow.get(other)).result).toBe(2);
  });

  test("are filled in for runs that an event starts", async ({ service }) => {
    await put(service);
    const flow = await putWorkflow(service, { events: ["user.created"] });
    await service.ok("POST", "/v1/events", { name: "user.created", data: INPUT });
    expect((await flow.take()).input).toMatchObject({ auth: `Bearer ${SECRET}` });
  });

  test("are refused when they are broken: in a trigger, and in an event", async ({ service, flow }) => {
    const broken = { a: ["${{ secrets.lower }}"] };
    const trigger = await service.api("POST", `/v1/workflows/${flow.id}/trigger`, { input: broken });
    expect([trigger.status, trigger.body.error.details.issues?.[0]?.path]).toEqual([400, "input.a[0]"]);
    const event = await service.api("POST", "/v1/events", { name: "user.created", data: broken });
    expect([event.status, event.body.error.details.issues?.[0]?.path]).toEqual([400, "data.a[0]"]);
  });

  test("of a secret that does not exist fail the execution, and a secret heals the run", async ({ service, flow }) => {
    const runId = await flow.trigger({ input: INPUT });
    expect((await flow.work({ workflows: [flow.id] })).runs).toEqual([]);
    const error = { name: "SECRET_NOT_FOUND", message: "There is no secret TOKEN." };
    await until(async () => (await flow.get(runId)).nextAttemptAt !== null, "the execution to fail");
    expect(await flow.get(runId)).toMatchObject({ status: "running", attempt: 2, error });
    await put(service);
    await service.advance(2);
    expect((await flow.take()).input).toMatchObject({ auth: `Bearer ${SECRET}` });
  });

  test.for([
    [{ allowed_queues: ["emails"] }, "it is for queues alone"],
    [{ allowed_hosts: ["api.example.com"] }, "may not be sent to the host worker w1"],
  ])("of a secret with %j fail the execution", async ([limits, why], { service, flow }) => {
    await put(service, limits as object);
    const runId = await flow.trigger({ input: INPUT });
    await flow.work({ workflows: [flow.id] });
    await until(async () => (await flow.get(runId)).nextAttemptAt !== null, "the execution to fail");
    expect(await flow.get(runId)).toMatchObject({ error: { name: "SECRET_NOT_ALLOWED", message: expect.stringContaining(why as string) } });
  });

  test("of a secret for a queue with the name of the workflow fail the execution", async ({ service, flow }) => {
    await put(service, { allowed_queues: [flow.id] });
    const runId = await flow.trigger({ input: INPUT });
    await flow.work({ workflows: [flow.id] });
    await until(async () => (await flow.get(runId)).nextAttemptAt !== null, "the execution to fail");
    expect(await flow.get(runId)).toMatchObject({ error: { name: "SECRET_NOT_ALLOWED" } });
  });

  test("are audited with the run and its workflow", async ({ service, flow }) => {
    await put(service);
    const runId = await flow.trigger({ input: INPUT });
    await flow.take();
    const input = { workflow: flow.id, host: "worker w1", attempts: { 1: [runId] }, secrets: ["TOKEN"] };
    const event = { type: "secret.accessed", actor: "system", resource: "TOKEN", input };
    expect(await audited(service, service.workspaceId, "secret")).toMatchObject([{ type: "secret.created" }, event]);
  });
});

describe("what a worker reports of a run with secrets", () => {
  const taken = async (service: Service, flow: TestWorkflow) => {
    await put(service);
    await flow.trigger({ input: INPUT });
    return flow.take();
  };

  test("has none of them in outputs and errors of steps", async ({ service, flow }) => {
    const run = await taken(service, flow);
    const failed = { key: "b", type: "run", status: "failed", error: { name: "Error", message: `Wrong token ${SECRET}` } };
    expect((await report(service, run, ran("a", { token: SECRET, n: 1 }), failed)).status).toBe(200);
    expect((await flow.get(run.runId)).steps).toMatchObject([
      { key: "a", output: { token: "[secret:TOKEN]", n: 1 } },
      { key: "b", error: { name: "Error", message: "Wrong token [secret:TOKEN]" } },
    ]);
  });

  test.for<[string, string, object]>([
    ["steps[0].key", "steps", { steps: [ran(`a ${SECRET}`, 1)] }],
    ["steps[0].signal", "steps", { steps: [{ key: "w", type: "wait", status: "waiting", signal: `s.${SECRET}`, timeout: 1_000 }] }],
    [
      "steps[0].http",
      "steps",
      { steps: [{ key: "h", type: "http", status: "waiting", http: { url: `https://example.com/?q=${SECRET}` } }] },
    ],
    ["input", "invocations", { key: "i", workflow: "w", input: { deep: [SECRET] }, timeout: 1_000 }],
    ["data", "events", { key: "e", name: "some.event", data: { token: SECRET } }],
    ["signal", "signals", { key: "s", signal: `s.${SECRET}` }],
    ["key", "signals", { key: SECRET, signal: "s" }],
  ])("must have none of them in %s of %s", async ([field, path, body], { service, flow }) => {
    const { runId, lease_token } = await taken(service, flow);
    const { status, body: reply } = await service.api("POST", `/v1/runs/${runId}/${path}`, { lease_token, ...body });
    expect([status, reply.error.details.issues[0].path]).toEqual([400, field]);
    expect(reply.error.message).toContain("give its template, like ${{ secrets.NAME }}, in its place");
    expect((await flow.get(runId)).steps).toEqual([]);
    expect(JSON.stringify(reply)).not.toContain(SECRET);
  });

  test("has none of them in steps that a suspension reports, in the result, and in errors", async ({ service, flow }) => {
    const run = await taken(service, flow);
    await flow.end(run, suspended(ran("a", SECRET), { key: "nap", type: "sleep", status: "waiting", sleepFor: 0 }));
    const next = await flow.take();
    expect(next.journal).toMatchObject([{ output: "[secret:TOKEN]" }, { key: "nap" }]);
    await flow.end(next, { outcome: "failed", error: `No: ${SECRET}`, error_name: SECRET, retry_in: 0 });
    expect(await flow.get(run.runId)).toMatchObject({ error: { name: "[secret:TOKEN]", message: "No: [secret:TOKEN]" } });
    await service.advance(5);
    await flow.end(await flow.take(), { outcome: "completed", result: { echoed: Buffer.from(SECRET).toString("base64") } });
    expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: { echoed: "[secret:TOKEN]" } });
    expect(await stored(service, run.runId)).not.toContain(SECRET);
  });

  test("has none of them in the keys of steps that a retry executes again, nor in the step that does not fit", async ({
    service,
    flow,
  }) => {
    const run = await taken(service, flow);
    await flow.end(run, { outcome: "failed", error: "no", retry: false, steps: [ran("a", 1)], retry_steps: ["a", `b-${SECRET}`] });
    expect(await service.database.query("select retry_steps from run where retry_steps is not null")).toEqual([{ retry_steps: ["a"] }]);
    await flow.trigger({ input: INPUT });
    const other = await flow.take();
    await flow.end(other, { outcome: "unfit", step: `b-${SECRET}`, error: "no" });
    expect(await flow.get(other.runId)).toMatchObject({ waitingFor: [{ step: "b-[secret:TOKEN]" }] });
    expect(await service.database.query("select step from run_unfit")).toEqual([{ step: "b-[secret:TOKEN]" }]);
  });

  test("has none of them in outputs that are long", async ({ service, flow }) => {
    const run = await taken(service, flow);
    const output = `${"x".repeat(500_000)}${SECRET}${"y".repeat(500_000)}`;
    expect((await report(service, run, ran("long", output))).status).toBe(200);
    const text = await stored(service, run.runId);
    expect([text.includes(SECRET), text.includes("x[secret:TOKEN]y")]).toEqual([false, true]);
  });

  test("has none of them though it reaches another node", async ({ service, flow }) => {
    const run = await taken(service, flow);
    const other = await joinedBy(service);
    expect((await report(other, run, ran("a", SECRET))).status).toBe(200);
    const elsewhere = {
      worker: "w1",
      queues: [],
      settle: [{ id: run.runId, lease_token: run.lease_token, outcome: "completed", result: SECRET }],
    };
    await other.ok("POST", "/v1/work", elsewhere);
    expect(await flow.get(run.runId)).toMatchObject({
      status: "completed",
      result: "[secret:TOKEN]",
      steps: [{ output: "[secret:TOKEN]" }],
    });
    await other.node.stop();
  });

  test("is taken again on another node that could not read the secret for a moment, which stores what others report beside it", async ({
    service,
    flow,
  }) => {
    const run = await taken(service, flow);
    await flow.trigger({ input: "no secret" });
    const plain = await flow.take();
    const other = await joinedBy(service);
    const reports = [run, plain].map(({ runId: id, lease_token }) => ({ id, lease_token }));
    const steps = [0, 1].map((at) => ({ report: at, ...ran("a", SECRET) }));
    const settle = reports.map((lease) => ({ ...lease, outcome: "completed", result: SECRET }));
    const { alone, together, settled } = await whileUnreadable(service, async () => ({
      alone: await report(other, run, ran("a", SECRET)),
      together: await other.ok("POST", "/v1/work/steps", { reports, steps }),
      settled: await other.ok("POST", "/v1/work", { worker: "w1", queues: [], settle }),
    }));
    const unavailable = { ok: false, code: "UNAVAILABLE", message: expect.stringContaining("secrets") };
    expect(alone.status).toBe(503);
    expect(together.reports).toMatchObject([unavailable, { ok: true, steps: 1 }]);
    expect(settled.settled).toMatchObject([unavailable, { ok: true }]);
    expect(await flow.get(plain.runId)).toMatchObject({ status: "completed", steps: [{ key: "a" }] });
    expect((await report(other, run, ran("a", SECRET))).status).toBe(200);
    const event = { lease_token: run.lease_token, key: "b", name: "paid", data: 1 };
    expect((await other.api("POST", `/v1/runs/${run.runId}/events`, event)).status).toBe(200);
    expect(await flow.get(run.runId)).toMatchObject({ steps: [{ output: "[secret:TOKEN]" }, {}] });
    await other.node.stop();
  });

  test("has no former value of a secret that was rotated meanwhile, though it reaches another node", async ({ service }) => {
    const flow = await putWorkflow(service, { attempts: 1 });
    const run = await taken(service, flow);
    const other = await joinedBy(service);
    await service.advance(1);
    await service.ok("PATCH", "/v1/secrets/TOKEN", { value: "another" });
    const event = { lease_token: run.lease_token, key: "b", name: "paid", data: { token: SECRET } };
    const settle = [{ id: run.runId, lease_token: run.lease_token, outcome: "completed", result: SECRET }];
    expect((await other.api("POST", `/v1/runs/${run.runId}/events`, event)).body.error).toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await report(other, run, ran("a", SECRET))).status).toBe(200);
    expect((await other.ok("POST", "/v1/work", { worker: "w1", queues: [], settle })).settled).toMatchObject([{ ok: true }]);
    const mark = "[secret:TOKEN]";
    expect(await flow.get(run.runId)).toMatchObject({ status: "completed", result: mark, steps: [{ key: "a", output: mark }] });
    await other.node.stop();
  });

  test.for(["outcome", "steps"] as const)(
    "is refused on another node when the secret was deleted meanwhile: the run is executed again, without an attempt: %s",
    async (reports, { service }) => {
      const flow = await putWorkflow(service, { attempts: 1 });
      const run = await taken(service, flow);
      const other = await joinedBy(service);
      await service.ok("DELETE", "/v1/secrets/TOKEN");
      const settle = [{ id: run.runId, lease_token: run.lease_token, outcome: "completed", result: SECRET }];
      const refused =
        reports === "steps"
          ? (await report(other, run, ran("a", 1))).body.error
          : (await other.ok("POST", "/v1/work", { worker: "w1", queues: [], settle })).settled[0];
      expect(refused).toMatchObject({ code: "LEASE_LOST" });
      await put(service, {}, "TOKEN", "another");
      const again = await flow.take();
      expect(again).toMatchObject({ runId: run.runId, attempt: 1, input: { auth: "Bearer another" } });
      await flow.end(again, { outcome: "completed" });
      expect(await flow.get(run.runId)).toMatchObject({ status: "completed" });
      await other.node.stop();
    },
  );

  test("is refused when its node is lost, and no execution has begun since", async ({ service, flow }) => {
    const run = await taken(service, flow);
    const other = await joinedBy(service);
    await service.database.query(
      "update job set state = 'waiting', lease_id = null, lease_until = null, lease_request = null, started_at = null where id = $1",
      [readRunId(run.runId)],
    );
    expect((await report(other, run, ran("a", SECRET))).body.error).toMatchObject({ code: "LEASE_LOST" });
    expect(await flow.get(run.runId)).toMatchObject({ steps: [] });
    await other.node.stop();
  });
});

describe("templates in an http step", () => {
  const step = (url: string, more: object = {}) => ({ key: "call", type: "http", status: "waiting", http: { url, ...more } });
  const callOf = ({ journal }: TakenRun) => journal.find(({ key }) => key === "call");

  test("are filled in by the service: in the address, the headers and the body", async ({ service, flow, server }) => {
    await put(service);
    await put(service, {}, "ACCOUNT", "acct/1 & co");
    const runId = await flow.trigger();
    const http = {
      headers: { authorization: "Bearer ${{ secrets.TOKEN }}" },
      body: { token: "${{ secrets.TOKEN }}", list: ["<${{ secrets.ACCOUNT }}>", 1] },
    };
    await flow.end(await flow.take(), suspended(step(`${server.url}/\${{ secrets.ACCOUNT }}?k=\${{ secrets.TOKEN }}`, http)));
    expect(callOf(await flow.take())).toMatchObject({ status: "completed" });
    const [received] = server.received;
    expect(received).toMatchObject({
      path: `/callback/acct%2F1%20%26%20co?k=${SECRET}`,
      headers: { authorization: `Bearer ${SECRET}` },
      body: { token: SECRET, list: ["<acct/1 & co>", 1] },
    });
    const { hostname } = new URL(server.url);
    const input = { workflow: flow.id, host: hostname, attempts: { 1: [runId] }, secrets: ["ACCOUNT", "TOKEN"] };
    expect((await audited(service, service.workspaceId, "secret")).at(-1)).toMatchObject({ type: "secret.accessed", input });
  });

  test("are filled into a body that is text", async ({ service, flow, server }) => {
    await put(service);
    await flow.trigger();
    await flow.end(await flow.take(), suspended(step(server.url, { body: "token=${{ secrets.TOKEN }}" })));
    await flow.take();
    expect(server.received[0]?.raw).toBe(`token=${SECRET}`);
  });

  test("are not in the response that is kept, nor in an error", async ({ service, flow, server }) => {
    await put(service);
    const headers = { authorization: "Bearer ${{ secrets.TOKEN }}" };
    server.answers = [
      { status: 200, headers: { "x-echo": SECRET }, body: JSON.stringify({ you: { sent: SECRET } }) },
      { status: 400, body: SECRET },
    ];
    for (const output of [{ headers: { "x-echo": "[secret:TOKEN]" }, body: { you: { sent: "[secret:TOKEN]" } } }, null]) {
      await flow.trigger();
      await flow.end(await flow.take(), suspended(step(server.url, { headers })));
      const run = await flow.take();
      expect(callOf(run)?.output ?? null).toEqual(output && expect.objectContaining({ body: output.body }));
      if (!output) expect(callOf(run)?.error?.message).toBe("The response has the status 400: [secret:TOKEN]");
      expect(await stored(service, run.runId)).not.toContain(SECRET);
      await flow.end(run, { outcome: "completed" });
    }
  });

  test("of a secret that does not exist are tried again", async ({ service, flow, server }) => {
    const runId = await flow.trigger();
    await flow.end(await flow.take(), suspended(step(server.url, { headers: { a: "${{ secrets.TOKEN }}" } })));
    const isDelayed = async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string";
    await until(isDelayed, "an attempt to fail");
    expect((await flow.get(runId)).waitingFor[0]?.lastError).toMatchObject({ code: "SECRET_NOT_FOUND" });
    await put(service);
    await service.advance(2);
    expect(callOf(await flow.take())).toMatchObject({ status: "completed", attempt: 2 });
    expect(server.received[0]?.headers.a).toBe(SECRET);
  });

  test.for([
    ["a host that is not allowed", { allowed_hosts: ["api.example.com"] }, "SECRET_NOT_ALLOWED"],
    ["a queue alone", { allowed_queues: ["emails"] }, "SECRET_NOT_ALLOWED"],
  ] as const)("of a secret for %s fail the step", async ([, limits, code], { service, flow, server }) => {
    await put(service, limits);
    await flow.trigger();
    await flow.end(await flow.take(), suspended(step(server.url, { headers: { a: "${{ secrets.TOKEN }}" }, attempts: 1 })));
    expect(callOf(await flow.take())).toMatchObject({ status: "failed", error: { name: "HttpError", code, status: null } });
    expect(server.received).toEqual([]);
  });

  test("go to a host that the secret allows", async ({ service, flow, server }) => {
    await put(service, { allowed_hosts: ["127.0.0.1"] });
    await flow.trigger();
    await flow.end(await flow.take(), suspended(step(server.url, { headers: { a: "${{ secrets.TOKEN }}" } })));
    expect(callOf(await flow.take())).toMatchObject({ status: "completed" });
  });

  test("with a value that no header may have fail the step for good", async ({ service, flow, server }) => {
    await put(service, {}, "TOKEN", "one\r\ntwo");
    await flow.trigger();
    await flow.end(await flow.take(), suspended(step(server.url, { headers: { a: "${{ secrets.TOKEN }}" } })));
    expect(callOf(await flow.take())).toMatchObject({ status: "failed", error: { code: "TEMPLATE_INVALID" }, attempt: 1 });
  });
});
