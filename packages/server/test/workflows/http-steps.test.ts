import { MAX_JOURNAL, type TakenRun } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { test as base } from "../harness/engine.ts";
import { Handler } from "../harness/handler.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const MIB = 1024 * 1024;
const httpStep = (url: string, more: object = {}, key = "fetch") => ({ key, type: "http", status: "waiting", http: { url, ...more } });
const suspended = (...steps: object[]) => ({ outcome: "suspended", steps });
const stepOf = ({ journal }: Pick<TakenRun, "journal">, key = "fetch") => journal.find((step) => step.key === key);
const json = (text: string, status = 200) => ({ status, headers: { "content-type": "application/json" }, body: text });

/** A workflow, and a server that its runs call. */
const test = base
  .extend<"flow", TestWorkflow>("flow", ({ service }) => putWorkflow(service))
  .extend<"server", Handler>("server", async ({}, { onCleanup }) => {
    const server = await Handler.listen(200);
    onCleanup(() => server.close());
    return server;
  })
  .extend<"call", (more?: object) => Promise<string>>("call", ({ flow, server }) => async (more) => {
    const runId = await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep(server.url, more)));
    return runId;
  });

/** Waits until an attempt of the call has failed, and lets the next one begin. */
async function nextAttempt(service: Service, flow: TestWorkflow, runId: string, afterSeconds: number): Promise<void> {
  const isDelayed = async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string";
  await until(isDelayed, "an attempt to fail");
  await service.advance(afterSeconds);
}

describe("an http step", () => {
  test("is called by the service, and its output is the response", async ({ flow, server, call }) => {
    server.answers = json('{"name":"Ada"}');
    const runId = await call({ method: "PUT", headers: { "X-Team": "billing" }, body: { id: 1 } });
    const run = await flow.take();
    const output = { status: 200, headers: expect.objectContaining({ "content-type": "application/json" }), body: { name: "Ada" } };
    expect(run.journal).toMatchObject([{ key: "fetch", type: "http", status: "completed", output, error: null, attempt: 1 }]);
    const headers = {
      "content-type": "application/json",
      "idempotency-key": `${runId}:fetch`,
      "user-agent": expect.stringMatching(/^Tidemill\//),
      "x-team": "billing",
    };
    expect(server.received).toMatchObject([{ method: "PUT", raw: '{"id":1}', headers }]);
    expect(await flow.get(runId)).toMatchObject({ status: "running", waitingFor: [] });
  });

  test("fails if the journal has no room for its response", async ({ service, flow, server, call }) => {
    server.answers = json(JSON.stringify("x".repeat(MIB - 200)));
    const runId = await call();
    await service.database.query("update run set journal_bytes = $1", [MAX_JOURNAL.bytes - MIB + 200]);
    const { journal } = await flow.take();
    expect(journal).toMatchObject([{ key: "fetch", status: "failed", output: null, error: { name: "JournalTooLargeError" } }]);
    expect((await flow.get(runId)).steps).toEqual(journal);
  });

  test.for([
    ["no body", {}, "GET", "", undefined],
    ["a text", { body: "a=1" }, "POST", "a=1", "text/plain; charset=utf-8"],
    ["null", { body: null }, "POST", "null", "application/json"],
    ["a text with its own type", { body: "<a/>", headers: { "Content-Type": "application/xml" } }, "POST", "<a/>", "application/xml"],
  ] as const)("sends %s", async ([, request, method, raw, type], { flow, server, call }) => {
    await call(request);
    await flow.take();
    expect(server.received).toMatchObject([{ method, raw }]);
    expect(server.received[0]?.headers["content-type"]).toBe(type);
  });

  test("has headers of its own in place of those of the service", async ({ flow, server, call }) => {
    await call({ headers: { "Idempotency-Key": "mine", "USER-AGENT": "me" } });
    await flow.take();
    expect(server.received[0]?.headers).toMatchObject({ "idempotency-key": "mine", "user-agent": "me" });
  });

  test.for([
    ["JSON, to the digit", json('{"amount": 12345678901234567890.10}'), '"body":{"amount": 12345678901234567890.10}'],
    ["broken JSON", json('{"amount"'), '"body":"{\\"amount\\""'],
    ["text", { status: 201, headers: { "content-type": "text/plain" }, body: "[1]" }, '"body":"[1]"'],
    ["nothing", 204, '"body":""'],
    ["several headers of one name", { status: 200, headers: { "x-a": ["1", "2"] as never } }, '"x-a":"1, 2"'],
  ] as const)("returns %s", async ([, answer, expected], { service, flow, server, call }) => {
    server.answers = answer;
    const runId = await call();
    expect(stepOf(await flow.take())?.status).toBe("completed");
    expect((await service.api("GET", `/v1/runs/${runId}`)).text).toContain(expected);
  });

  test("returns a response of almost 1 MiB", async ({ flow, server, call }) => {
    const body = "x".repeat(MIB - 1_000);
    server.answers = { status: 200, body };
    await call();
    expect(stepOf(await flow.take())?.output).toMatchObject({ body });
  });

  test.for([
    ["longer than 1 MiB", { body: "x".repeat(MIB + 1) }, "its body is longer than 1 MiB"],
    ["longer than 1 MiB as JSON", { body: '"'.repeat(MIB / 2 + 1) }, "it is longer than 1 MiB as JSON"],
  ] as const)("fails for a response that is %s, and is not tried again", async ([, answer, why], { flow, server, call }) => {
    server.answers = { status: 200, ...answer };
    await call();
    const error = { name: "HttpError", message: `The response has the status 200, but ${why}.`, code: "HTTP_STATUS", status: 200 };
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", output: null, error, attempt: 1 });
  });

  test("that waits shows its call, and the worker is free", async ({ flow, server, call }) => {
    server.answers = "hang";
    const runId = await call({ attempts: 7 });
    await until(() => server.open === 1, "the call");
    expect(await flow.get(runId)).toMatchObject({
      status: "waiting",
      waitingFor: [
        { type: "http", step: "fetch", method: "GET", url: server.url, attempt: 1, attempts: 7, nextAttemptAt: null, lastError: null },
      ],
      steps: [{ key: "fetch", type: "http", status: "waiting", output: null, wakeAt: null }],
    });
    expect((await flow.work({ workflows: [flow.id] })).runs).toEqual([]);
    server.release();
    expect(stepOf(await flow.take())).toMatchObject({ output: { status: 200 } });
  });

  test("that is reported twice is called once", async ({ service, flow, server }) => {
    server.answers = "hang";
    await flow.trigger();
    const run = await flow.take();
    const report = { lease_token: run.lease_token, steps: [httpStep(server.url)] };
    for (const _ of [1, 2]) await service.ok("POST", `/v1/runs/${run.runId}/steps`, report);
    await flow.end(run, suspended(httpStep(server.url)));
    await until(() => server.open === 1, "the call");
    server.release();
    expect((await flow.take()).journal).toHaveLength(1);
    expect(server.received).toHaveLength(1);
  });

  test("is called while other steps of its execution go on, and its outcome comes with the next execution", async ({
    service,
    flow,
    server,
  }) => {
    const runId = await flow.trigger();
    const run = await flow.take();
    const report = (...steps: object[]) => service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    await report(httpStep(server.url));
    const isAnswered = async () =>
      (await service.database.query("select from run_step where key = 'fetch' and answered_at is not null")).length > 0;
    await until(isAnswered, "the response");
    expect((await flow.get(runId)).steps).toMatchObject([{ status: "waiting", output: null }]);
    await report({ key: "other", type: "run", status: "completed", output: 1 });
    await flow.end(run, suspended());
    expect((await flow.take()).journal.map(({ key }) => key)).toEqual(["other", "fetch"]);
  });

  test("stands in the journal in the order of ends with sleeps", async ({ service, flow, server }) => {
    server.answers = "hang";
    await flow.trigger();
    const sleep = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };
    await flow.end(await flow.take(), suspended(sleep, httpStep(server.url)));
    await until(() => server.open === 1, "the call");
    await service.advance(61);
    const run = await flow.take();
    expect(run.journal.map(({ key, status }) => `${key} ${status}`)).toEqual(["nap completed", "fetch waiting"]);
    await flow.end(run, suspended());
    server.release();
    expect((await flow.take()).journal.map(({ key, status }) => `${key} ${status}`)).toEqual(["nap completed", "fetch completed"]);
  });
});

test("a run that waits for other code does not go on when its call ends, and has the response when other code comes", async ({
  service,
  flow,
  server,
}) => {
  server.answers = "hang";
  const runId = await flow.trigger();
  const first = await flow.take({ version: "v1" });
  await flow.end(first, suspended(httpStep(server.url), { key: "nap", type: "sleep", status: "waiting", sleepFor: 1_000 }));
  await until(() => server.open === 1, "the call");
  await service.advance(2);
  const { lease_token } = await flow.take({ version: "v1" });
  await flow.work({ version: "v1", settle: [{ id: runId, lease_token, outcome: "unfit", step: "nap", error: "It does not fit." }] });
  server.release();
  const isAnswered = async () => (await flow.get(runId)).waitingFor.every(({ attempt }) => attempt === undefined);
  await until(isAnswered, "the response");
  expect((await flow.work({ version: "v1", workflows: [flow.id] })).runs).toEqual([]);
  expect(await flow.get(runId)).toMatchObject({ status: "waiting", waitingFor: [{ type: "code" }, { type: "http" }] });
  expect(stepOf(await flow.take({ version: "v2" }))).toMatchObject({ status: "completed" });
});

describe("an http step whose call fails", () => {
  test("is tried again after a 5xx, with the same Idempotency-Key and its backoff", async ({ service, flow, server, call }) => {
    server.answers = [503, 500, 200];
    const runId = await call({ backoff: { delay: 10_000 } });
    await nextAttempt(service, flow, runId, 12);
    await nextAttempt(service, flow, runId, 24);
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", attempt: 3 });
    expect(new Set(server.received.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([`${runId}:fetch`]));
    expect(server.received).toHaveLength(3);
  });

  test("shows why, and when it is tried again", async ({ service, flow, server, call }) => {
    server.answers = { status: 503, headers: { "retry-after": "90" }, body: "Come later" };
    const runId = await call();
    const isDelayed = async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string";
    await until(isDelayed, "an attempt to fail");
    const message = "The response has the status 503: Come later";
    const nextAttemptAt = new Date(service.clock.nowMs() + 90_000).toISOString();
    expect((await flow.get(runId)).waitingFor).toMatchObject([
      {
        attempt: 1,
        nextAttemptAt,
        lastError: { code: "HTTP_STATUS", message, status: 503 },
      },
    ]);
    const failed = `its last attempt failed with HTTP_STATUS 503; attempt 2 of 3 is due in 1 min 30 s (${nextAttemptAt})`;
    expect(await service.ok("GET", `/v1/runs/${runId}/explain`)).toMatchObject({
      heldBy: ["steps"],
      summary: `Not running: it waits for the response to "fetch" (${failed}).`,
      estimatedStart: null,
    });
  });

  test("has failed after its last attempt, with the status of the last response", async ({ service, flow, server, call }) => {
    server.answers = [500, { status: 502, body: "No luck" }];
    const runId = await call({ attempts: 2 });
    await nextAttempt(service, flow, runId, 2);
    const error = { name: "HttpError", message: "The response has the status 502: No luck", code: "HTTP_STATUS", status: 502 };
    const run = await flow.take();
    expect(stepOf(run)).toMatchObject({ status: "failed", output: null, error, attempt: 2 });
    await flow.end(run, { outcome: "failed", error: error.message, error_name: error.name, retry: false });
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    expect((await flow.take()).journal).toEqual([]);
  });

  test.for([
    [404, "The response has the status 404.", "HTTP_STATUS"],
    [302, "The response has the status 302; redirects are not followed.", "REDIRECT"],
  ] as const)("is not tried again after %i", async ([status, message, code], { flow, server, call }) => {
    server.answers = status;
    await call();
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", error: { name: "HttpError", message, code, status }, attempt: 1 });
  });

  test.for([408, 425, 429])("is tried again after %i", async (status, { service, flow, server, call }) => {
    server.answers = [status, 200];
    await nextAttempt(service, flow, await call(), 2);
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", attempt: 2 });
  });

  test("is tried again when the connection is reset", async ({ service, flow, server, call }) => {
    server.answers = ["reset", 200];
    await nextAttempt(service, flow, await call(), 2);
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed", attempt: 2 });
  });

  test("has no status when no response came in time", async ({ flow, server, call }) => {
    server.answers = "hang";
    await call({ attempts: 1, timeout: 50 });
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", error: { name: "HttpError", code: "TIMEOUT", status: null } });
    await until(() => server.open === 0, "the request to be ended");
  });

  test.for([
    ["an address of the private network", "http://10.0.0.1/"],
    ["the metadata host", "http://169.254.169.254/latest"],
  ])("for %s is not tried at all", async ([, url = ""], { flow }) => {
    await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep(url)));
    expect(stepOf(await flow.take())).toMatchObject({
      status: "failed",
      error: { name: "HttpError", code: "BLOCKED_ADDRESS", status: null },
    });
  });

  test("for a name that does not exist fails with DNS", async ({ flow }) => {
    await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep("http://nowhere.invalid/", { attempts: 1 })));
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", error: { code: "DNS", status: null } });
  });

  test("often opens no circuit: other calls of the workflow, to other hosts, are made", async ({ service, flow, server, call }) => {
    server.answers = 500;
    const steps = Array.from({ length: 25 }, (_, n) => httpStep(server.url, { attempts: 1 }, `call ${n}`));
    await flow.trigger();
    await flow.end(await flow.take(), suspended(...steps));
    let run = await flow.take();
    for (; run.journal.some(({ status }) => status === "waiting"); run = await flow.take()) await flow.end(run, suspended());
    expect(new Set(run.journal.map(({ status }) => status))).toEqual(new Set(["failed"]));
    await flow.end(run, { outcome: "completed" });
    expect(await service.database.query("select from circuit")).toEqual([]);
    server.answers = 200;
    await call();
    expect(stepOf(await flow.take())?.status).toBe("completed");
  });

  test("on a plan without callbacks fails at once, with a name of its own", async ({ service, server }) => {
    const free = new Service(service.node, service.database, service.clock, await newWorkspace(service.database, "free"));
    const flow = await putWorkflow(free);
    await flow.trigger();
    await flow.end(await flow.take(), suspended(httpStep(server.url)));
    expect(stepOf(await flow.take())).toMatchObject({ status: "failed", error: { name: "PlanRequiredError" } });
    expect(server.received).toEqual([]);
  });
});

describe("the call of a run that ends", () => {
  const jobs = async (service: Service) =>
    (
      await service.database.query(
        `select from (select workspace_id from job where kind = 'http' union all select workspace_id from run_call) found
         join api_key k using (workspace_id) where k.hash = sha256($1::text::bytea)`,
        [service.key],
      )
    ).length;

  test("is aborted by a cancel, and not made again", async ({ service, flow, server, call }) => {
    server.answers = "hang";
    const runId = await call();
    await until(() => server.open === 1, "the call");
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await until(() => server.aborted === 1, "the request to be ended");
    expect(await jobs(service)).toBe(0);
    await service.advance(60);
    expect(server.received).toHaveLength(1);
    expect((await flow.get(runId)).waitingFor).toEqual([]);
  });

  test("is asked for anew when the run is retried", async ({ service, flow, server, call }) => {
    server.answers = "hang";
    const runId = await call();
    await until(() => server.open === 1, "the call");
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    const run = await flow.take();
    expect(run.journal).toEqual([]);
    server.answers = 200;
    await flow.end(run, suspended(httpStep(server.url)));
    expect(stepOf(await flow.take())).toMatchObject({ status: "completed" });
    expect(new Set(server.received.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });

  test("before its response is withdrawn while it waits for its next attempt", async ({ service, flow, server }) => {
    server.answers = 503;
    const runId = await flow.trigger();
    const nap = { key: "nap", type: "sleep", status: "waiting", sleepFor: 1 };
    await flow.end(await flow.take(), suspended(httpStep(server.url), nap));
    await until(async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string", "an attempt to fail");
    await service.advance(0.1);
    await flow.end(await flow.take(), { outcome: "completed", result: 1 });
    expect(await flow.get(runId)).toMatchObject({ status: "completed", waitingFor: [] });
    expect(await jobs(service)).toBe(0);
  });

  test("is aborted when its workflow is deleted", async ({ service, flow, server, call }) => {
    server.answers = "hang";
    await call();
    await until(() => server.open === 1, "the call");
    await service.ok("DELETE", `/v1/workflows/${flow.id}`);
    await until(() => server.aborted === 1, "the request to be ended");
  });
});

describe("what a program reports of an http step", () => {
  const good = { url: "http://example.com/" };
  const reported = (http: unknown, more: object = {}) => ({ key: "k", type: "http", status: "waiting", http, ...more });
  /** A call that names so many secrets: two outside of its body. */
  const namingSecrets = (count: number) => ({
    url: "http://example.com/?${{ secrets.URL }}",
    headers: { a: "${{ secrets.HEADER }}" },
    body: Array.from({ length: count - 2 }, (_, at) => `\${{ secrets.S${at} }}`),
  });

  test.for<[string, object, string]>([
    ["no call", { key: "k", type: "http", status: "waiting" }, "steps[0].http"],
    ["an outcome", reported(good, { status: "completed" }), "steps[0].status"],
    ["a call of another step", { ...reported(good), type: "sleep", sleepFor: 1 }, "steps[0].http"],
    ["an address without scheme", reported({ url: "example.com" }), "steps[0].http.url"],
    ["a template in the host", reported({ url: "http://${{ secrets.HOST }}/" }), "steps[0].http.url"],
    ["another method", reported({ ...good, method: "FETCH" }), "steps[0].http.method"],
    ["a body of a GET", reported({ ...good, method: "GET", body: 1 }), "steps[0].http.body"],
    [
      "a header of the connection",
      reported({ ...good, headers: { "Transfer-Encoding": "chunked" } }),
      "steps[0].http.headers.Transfer-Encoding",
    ],
    ["a line break in a header", reported({ ...good, headers: { a: "1\r\nb: 2" } }), "steps[0].http.headers.a"],
    ["a broken template in a header", reported({ ...good, headers: { a: "${{ secrets.A" } }), "steps[0].http.headers.a"],
    ["a broken template in the body", reported({ ...good, body: "${{ secrets.A" }), "steps[0].http.body"],
    ["a template of another namespace in the body", reported({ ...good, body: { a: ["${{ secret.X }}"] } }), "steps[0].http.body.a[0]"],
    ["a template in a name in the body", reported({ ...good, body: { "${{ secrets.A }}": 1 } }), "steps[0].http.body"],
    ["more than 100 secrets in all its parts", reported(namingSecrets(101)), "steps[0].http"],
    ["0 attempts", reported({ ...good, attempts: 0 }), "steps[0].http.attempts"],
    ["a timeout over 15 minutes", reported({ ...good, timeout: 900_001 }), "steps[0].http.timeout"],
    ["an unknown field", reported({ ...good, redirect: "follow" }), "steps[0].http.redirect"],
  ])("is refused: %s", async ([, step, path], { service, flow }) => {
    await flow.trigger();
    const run = await flow.take();
    const { status, body } = await service.api("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps: [step] });
    expect([status, body.error.details.issues?.[0]?.path]).toEqual([400, path]);
  });

  test("may name 100 secrets", async ({ service, flow }) => {
    await flow.trigger();
    const run = await flow.take();
    const report = { lease_token: run.lease_token, steps: [reported(namingSecrets(100))] };
    expect((await service.api("POST", `/v1/runs/${run.runId}/steps`, report)).status).toBe(200);
  });

  test("is refused with an outcome, too: a broken template in the body", async ({ flow }) => {
    await flow.trigger();
    const settled = await flow.end(await flow.take(), suspended(reported({ ...good, body: ["${{"] })));
    const message = expect.stringMatching(/^steps\[0\]\.http\.body\[0\] /);
    expect(settled).toMatchObject({ ok: false, code: "VALIDATION_ERROR", message });
  });

  test("is refused: a body over 1 MiB", async ({ service, flow }) => {
    await flow.trigger();
    const run = await flow.take();
    const steps = [reported({ ...good, body: "x".repeat(MIB) })];
    const { status, body } = await service.api("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps });
    expect([status, body.error.details]).toEqual([413, { limit_bytes: MIB, path: "steps[0].http" }]);
  });
});
