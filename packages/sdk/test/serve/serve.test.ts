import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  event,
  expressHandler,
  type Logger,
  NonRetryableError,
  nodeHandler,
  RetryAfterError,
  type ServeOptions,
  serve,
  type Tidemill,
  TidemillError,
  type WorkflowContext,
  workflow,
} from "@tidemill/sdk";
import { describe, expect } from "vitest";
import { newWorkspace, until } from "../../../server/test/harness/service.ts";
import { failureOf } from "../harness/failure.ts";
import { test as base } from "../harness/live.ts";

const quiet = () => {};
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const SECRET = `cbs_${"s".repeat(43)}`;
const NEW_SECRET = `cbs_${"t".repeat(43)}`;
const SOON = { delay: 10 };

const test = base.extend("host", async ({ live }, { onCleanup }) => {
  const closing: (() => Promise<unknown>)[] = [];
  onCleanup(async () => {
    for (const close of closing) await close();
  });
  /** Serves workflows at an address, and registers them. */
  return async (workflows: ServeOptions["workflows"], options: Partial<ServeOptions> & { endpointTimeout?: number } = {}) => {
    const { endpointTimeout, ...more } = options;
    const handler = serve({ url: live.url, key: live.key, workflows, secret: SECRET, logger: SILENT, ...more });
    const statuses: number[] = [];
    const server = createServer((request, response) => {
      response.on("finish", () => statuses.push(response.statusCode));
      void nodeHandler(handler)(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const endpointUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await handler.register({ endpointUrl, ...(endpointTimeout !== undefined && { endpointTimeout }) });
    return { handler, endpointUrl, statuses };
  };
});

const start = async (tidemill: Tidemill, id: string, input: unknown = null): Promise<string> =>
  (await tidemill.workflows.trigger(id, { input })).runIds[0] ?? "";

const untilStatus = (tidemill: Tidemill, runId: string, status: string) =>
  until(async () => (await tidemill.runs.get(runId)).status === status, `run ${runId} to be ${status}`);

test("serve executes runs of several workflows at one address, and their hooks", async ({ live: { tidemill }, host }) => {
  const ended: unknown[] = [];
  const done = event<{ name: string }>("user.greeted");
  const greet = workflow(
    { id: "greet", onSuccess: ({ result }) => void ended.push(result) },
    async ({ input, step, run }: WorkflowContext<{ name: string }>) => {
      const at = run.now();
      const [first, second] = await Promise.all([step.run("first", () => 1), step.run("second", () => 2)]);
      await step.sleep("nap", 1);
      const { ok } = (await step.waitForSignal("approval", { signal: `approve.${run.id}`, timeout: "1h" })) as { ok: boolean };
      const { runIds } = await step.sendEvent("tell", { name: done, data: { name: input.name } });
      return { sum: first + second, ok, runIds, isSame: at === run.now() || at < run.now() };
    },
  );
  const report = workflow({ id: "report", on: done }, ({ input }) => input.name);
  const { endpointUrl } = await host([greet, report], { endpointTimeout: 60 });
  expect(await tidemill.workflows.get("greet")).toMatchObject({
    endpoint_url: endpointUrl,
    endpoint_timeout: 60,
    has_endpoint_secret: true,
    hooks: ["onSuccess"],
  });
  expect(await tidemill.workflows.get("report")).toMatchObject({ events: ["user.greeted"] });
  const runId = await start(tidemill, "greet", { name: "Ada" });
  await untilStatus(tidemill, runId, "waiting");
  await tidemill.signals.complete(`approve.${runId}`, { ok: true });
  await untilStatus(tidemill, runId, "completed");
  const { result, attempt } = await tidemill.runs.get(runId);
  expect({ result, attempt }).toEqual({ result: { sum: 3, ok: true, runIds: [expect.any(String)], isSame: true }, attempt: 1 });
  const [reported = ""] = (result as { runIds: string[] }).runIds;
  await untilStatus(tidemill, reported, "completed");
  await until(() => ended.length > 0, "onSuccess to fire");
  expect(ended).toEqual([result]);
});

test("a request that is signed with another secret is 401, and the run is tried again without using attempts", async ({
  live: { tidemill },
  host,
}) => {
  const greet = workflow({ id: "greet", attempts: 1, backoff: SOON }, () => "greeted");
  const { endpointUrl, handler, statuses } = await host([greet]);
  await tidemill.workflows.put("greet", {
    endpoint_url: endpointUrl,
    endpoint_secret: NEW_SECRET,
    attempts: 1,
    backoff: { type: "exponential", ...SOON },
  });
  const runId = await start(tidemill, "greet");
  await until(async () => (await tidemill.runs.get(runId)).error !== null, "the run to be tried");
  expect(await tidemill.runs.get(runId)).toMatchObject({
    status: "running",
    attempt: 1,
    error: { name: "HTTP_STATUS", message: expect.stringContaining("401") },
  });
  await handler.register({ endpointUrl });
  await untilStatus(tidemill, runId, "completed");
  expect(statuses[0]).toBe(401);
});

test("while secrets are rotated, both are accepted", async ({ live: { tidemill }, host }) => {
  const greet = workflow({ id: "greet", attempts: 1 }, () => "greeted");
  const { endpointUrl } = await host([greet], { secret: [NEW_SECRET, SECRET] });
  for (const endpoint_secret of [NEW_SECRET, SECRET]) {
    await tidemill.workflows.put("greet", { endpoint_url: endpointUrl, endpoint_secret, attempts: 1 });
    await untilStatus(tidemill, await start(tidemill, "greet"), "completed");
  }
});

test("a workflow that throws is tried again after its backoff, or not at all", async ({ live: { tidemill }, host }) => {
  let executions = 0;
  const flaky = workflow({ id: "flaky", attempts: 3, backoff: SOON }, () => {
    executions += 1;
    if (executions === 1) throw new RetryAfterError("Later.", { seconds: 0 });
    if (executions === 2) throw new RangeError("It broke.");
    return executions;
  });
  const hopeless = workflow({ id: "hopeless" }, () => {
    throw new NonRetryableError("Declined.");
  });
  await host([flaky, hopeless]);
  const [good, bad] = [await start(tidemill, "flaky"), await start(tidemill, "hopeless")];
  await untilStatus(tidemill, good, "completed");
  expect(await tidemill.runs.get(good)).toMatchObject({ result: 3, attempt: 3 });
  await untilStatus(tidemill, bad, "failed");
  expect(await tidemill.runs.get(bad)).toMatchObject({ attempt: 1, error: { name: "NonRetryableError", message: "Declined." } });
});

test("a journal that is too large to be sent is fetched", async ({ live: { tidemill }, host }) => {
  const large = workflow({ id: "large" }, async ({ step }) => {
    const texts: string[] = [];
    for (let number = 0; number < 2; number += 1) texts.push(await step.run("part", () => String(number).repeat(200_000)));
    await Promise.all(Array.from({ length: 150 }, (_, at) => step.run("small", () => at, { key: at })));
    await step.sleep("nap", 1);
    return texts.map((text) => `${text[0]} ${text.length}`);
  });
  await host([large]);
  const runId = await start(tidemill, "large");
  await untilStatus(tidemill, runId, "completed");
  expect(await tidemill.runs.get(runId)).toMatchObject({
    attempt: 1,
    result: ["0 200000", "1 200000"],
  });
});

test("a journal of which something between has left out the end is not executed", async ({ live: { tidemill }, host }) => {
  const executed: number[] = [];
  const large = workflow({ id: "large" }, async ({ step }) => {
    await step.run("long", () => "x".repeat(300_000));
    for (let at = 0; at < 120; at += 1) await step.run("count", () => void executed.push(at));
    await step.sleep("nap", 1);
    return executed.length;
  });
  let cuts = 0;
  const fetchWith = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    if (!String(input).includes("/journal") || cuts > 0) return response;
    cuts += 1;
    return Response.json({ ...((await response.json()) as object), next_cursor: null });
  };
  const warnings: unknown[] = [];
  const logger = { ...SILENT, warn: (_message: string, fields?: object) => void warnings.push(fields) };
  // Enough time for all steps in one execution.
  await host([large], { fetch: fetchWith, logger, endpointTimeout: 900 });
  const runId = await start(tidemill, "large");
  await untilStatus(tidemill, runId, "completed");
  expect(await tidemill.runs.get(runId)).toMatchObject({ attempt: 1, result: 120 });
  expect(executed).toHaveLength(120);
  expect(warnings).toEqual([
    { run: runId, error: "TidemillError: The response has 100 steps of the run's journal, which has at least 122." },
  ]);
});

test("steps that are too large for the response are stored before it", async ({ live: { tidemill }, host }) => {
  const executed: number[] = [];
  const large = workflow({ id: "large" }, async ({ step }) => {
    const nap = step.sleep("nap", 1);
    const parts = Array.from({ length: 3 }, (_, at) =>
      step.run(
        "part",
        () => {
          executed.push(at);
          return "x".repeat(200_000);
        },
        { key: at },
      ),
    );
    const [, ...texts] = await Promise.all([nap, ...parts]);
    return texts.map((text) => text.length);
  });
  await host([large]);
  const runId = await start(tidemill, "large");
  await untilStatus(tidemill, runId, "completed");
  expect((await tidemill.runs.get(runId)).result).toEqual([200_000, 200_000, 200_000]);
  expect(executed.toSorted()).toEqual([0, 1, 2]);
});

test("when a run is cancelled, the step in progress is aborted", async ({ live: { tidemill }, host }) => {
  const [reached, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<Error>()];
  const stuck = workflow({ id: "stuck" }, async ({ step }) => {
    await step.run("wait", ({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason as Error));
      reached.resolve();
      return new Promise(quiet);
    });
  });
  await host([stuck]);
  const runId = await start(tidemill, "stuck");
  await reached.promise;
  await tidemill.runs.cancel(runId);
  expect(await aborted.promise).toMatchObject({
    name: "RunAbortedError",
    why: "disconnected",
    message: "The service no longer waits for this execution: the run was cancelled, or its time is over (endpoint_timeout: 30 s).",
  });
  expect(await tidemill.runs.get(runId)).toMatchObject({ status: "cancelled" });
});

test("a handler whose key is refused logs that once, and its runs complete when the key is accepted", async ({ live, host }) => {
  const { tidemill } = live;
  const { id, key } = await tidemill.keys.create({ name: "handler", role: "admin" });
  const errors: string[] = [];
  const logger = { ...SILENT, error: (message: string) => void errors.push(message) };
  const refused = new Set<string>();
  let isRevoked = false;
  const fetchWith = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (!isRevoked) headers.set("authorization", `Bearer ${live.key}`);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 401) refused.add(String(input));
    return response;
  };
  const greet = workflow({ id: "greet" }, async ({ step }) => {
    await step.run("first", () => 1);
    return step.run("second", () => 2);
  });
  await host([greet], { key, logger, fetch: fetchWith });
  await tidemill.keys.revoke(id);
  isRevoked = true;
  const runs = [await start(tidemill, "greet"), await start(tidemill, "greet")];
  await until(() => refused.size === 2, "the key to be refused for the steps of both runs");
  expect(errors).toEqual([
    "The service refuses the key. Executions that report steps end without an outcome until the handler has another key.",
  ]);
  isRevoked = false;
  for (const run of runs) await untilStatus(tidemill, run, "completed");
});

test("a run of a workflow that the program does not have waits for it, and says so", async ({ live: { tidemill }, host }) => {
  const { endpointUrl } = await host([workflow({ id: "known" }, () => 1)]);
  await tidemill.workflows.put("unknown", { endpoint_url: endpointUrl, endpoint_secret: SECRET, attempts: 1 });
  const runId = await start(tidemill, "unknown");
  await until(async () => (await tidemill.runs.get(runId)).error !== null, "the run to be tried");
  const { status, attempt, error } = await tidemill.runs.get(runId);
  expect([status, attempt, error?.message]).toEqual(["running", 1, expect.stringContaining('This program has no workflow \\"unknown\\"')]);
});

test("a result that is too large fails the run for good", async ({ live: { tidemill }, host }) => {
  await host([workflow({ id: "large" }, () => "x".repeat(70_000))]);
  const runId = await start(tidemill, "large");
  await untilStatus(tidemill, runId, "failed");
  expect(await tidemill.runs.get(runId)).toMatchObject({
    attempt: 1,
    error: { name: "ResultTooLargeError", message: "The result has 70002 bytes; the limit is 65536 bytes." },
  });
});

test("one that is too large for a response fails the run at once, and its steps are stored and not executed again", async ({
  live: { tidemill },
  host,
}) => {
  const executed: string[] = [];
  const large = workflow({ id: "large" }, async ({ step }) => {
    await step.run("once", () => void executed.push("once"));
    return "x".repeat(300_000);
  });
  await host([large]);
  const runId = await start(tidemill, "large");
  await untilStatus(tidemill, runId, "failed");
  expect(await tidemill.runs.get(runId)).toMatchObject({
    attempt: 1,
    steps: [{ key: "once", status: "completed" }],
    error: { name: "ResultTooLargeError", message: "The result has 300002 bytes; the limit is 65536 bytes." },
  });
  expect(executed).toEqual(["once"]);
});

test("a run fails with its error even if the keys of its failed steps are too long for the response", async ({
  live: { tidemill },
  host,
}) => {
  const failing = workflow({ id: "failing" }, async ({ step }) => {
    const keys = Array.from({ length: 1_500 }, (_, at) => `${at}`.padEnd(200, "x"));
    await Promise.allSettled(keys.map((key) => step.run("part", () => Promise.reject(new Error("down")), { key, attempts: 1 })));
    throw new NonRetryableError("No part.");
  });
  await host([failing]);
  const runId = await start(tidemill, "failing");
  await untilStatus(tidemill, runId, "failed");
  expect(await tidemill.runs.get(runId)).toMatchObject({ attempt: 1, error: { message: "No part." } });
});

test("a run fails for good whose steps are refused before the response", async ({ database, live: { tidemill }, host }) => {
  const full = workflow({ id: "full" }, async ({ step }) => {
    await step.run("fill", () => database.query("update run set steps = 10000").then(() => {}));
    return step.http("more", { method: "POST", url: "https://example.com/", body: "x".repeat(70_000) });
  });
  await host([full]);
  const runId = await start(tidemill, "full");
  await untilStatus(tidemill, runId, "failed");
  expect(await tidemill.runs.get(runId)).toMatchObject({ attempt: 1, error: { name: "JournalTooLargeError" } });
});

test("register is refused on a plan without callbacks", async ({ database, live }) => {
  const { key } = await newWorkspace(database, "free");
  const handler = serve({ url: live.url, key, secret: SECRET, workflows: [workflow({ id: "greet" }, () => 1)] });
  const error = await failureOf(handler.register({ endpointUrl: "https://example.com/" }));
  expect(error).toBeInstanceOf(TidemillError);
  expect(error).toMatchObject({ code: "PLAN_REQUIRED", status: 403 });
});

describe("a request that no handler can take", () => {
  const handler = serve({
    url: "http://127.0.0.1:1",
    key: "k",
    secret: SECRET,
    logger: SILENT,
    workflows: [workflow({ id: "a" }, () => 1)],
  });
  const respond = async (request: Request) => {
    const response = await handler(request);
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
  };

  test("is a GET", async () => {
    expect(await respond(new Request("http://localhost/"))).toEqual([405, "Executions come as POST requests."]);
  });

  test("has no signature", async () => {
    const [status, message] = await respond(new Request("http://localhost/", { method: "POST", body: "{}" }));
    expect([status, message]).toEqual([401, expect.stringContaining("X-Service-Signature")]);
  });

  const execution = {
    kind: "run",
    runId: "run_1",
    workflowId: "a",
    attempt: 1,
    attempts: 3,
    journal: [],
    lease_token: "t",
    lease_expires_at: new Date(Date.now() + 30_000).toISOString(),
  };
  const NO_EXECUTION = "The body is not an execution of a run or a hook.";
  const lacking = (field: string) => `The body is not an execution: ${field} is missing or wrong.`;

  test.for<[string, string, string]>([
    ["nothing", "", "The body is not JSON."],
    ["no JSON", "{", "The body is not JSON."],
    ["null", "null", NO_EXECUTION],
    ["a list", "[]", NO_EXECUTION],
    ["a text", '"run"', NO_EXECUTION],
    ["no kind", "{}", NO_EXECUTION],
    ["another kind", '{"kind":"toString"}', NO_EXECUTION],
    ["no workflow", JSON.stringify({ ...execution, workflowId: undefined }), lacking("workflowId")],
    ["a journal that is a text", JSON.stringify({ ...execution, journal: "x" }), lacking("journal")],
    ["a journal that is an object", JSON.stringify({ ...execution, journal: {} }), lacking("journal")],
    ["no journal", JSON.stringify({ ...execution, journal: undefined }), lacking("journal")],
    ["a journal of other things", JSON.stringify({ ...execution, journal: [null] }), lacking("journal")],
    ["a lease without an end", JSON.stringify({ ...execution, lease_expires_at: "soon" }), lacking("lease_expires_at")],
    ["a hook without a name", JSON.stringify({ ...execution, kind: "hook" }), lacking("hook")],
  ])("is signed, and its body is %s", async ([, body, message]) => {
    const at = Math.floor(Date.now() / 1_000);
    const digest = createHmac("sha256", SECRET).update(`run_1.${at}.${body}`).digest("base64");
    const headers = { "x-service-job-id": "run_1", "x-service-timestamp": String(at), "x-service-signature": `v1,${digest}` };
    expect(await respond(new Request("http://localhost/", { method: "POST", body, headers }))).toEqual([400, message]);
  });

  test("was parsed by Express before", async () => {
    const written: unknown[] = [];
    const response = {
      writableEnded: false,
      on: quiet,
      writeHead: (status: number) => void written.push(status),
      end: (text?: string) => void written.push(text),
    };
    const request = {
      method: "POST",
      headers: {},
      body: {},
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }),
    };
    await expressHandler(handler)(request, response);
    expect(written).toEqual([500, expect.stringContaining("before express.json()")]);
  });
});

describe("options that are wrong", () => {
  const workflows = [workflow({ id: "a" }, () => 1)];
  const WRONG: readonly [string, ServeOptions, RegExp][] = [
    ["without a secret", { workflows }, /secret is required/],
    ["with another secret", { workflows, secret: "s3cret" }, /secret must be cbs_/],
    ["with no secret in the list", { workflows, secret: [] }, /secret must be cbs_/],
    ["with another url", { workflows, secret: SECRET, url: "ftp://x" }, /url must be/],
  ];
  test.for(WRONG)("%s: register says so", async ([, options, message]) => {
    const handler = serve({ url: "http://127.0.0.1:1", key: "k", logger: SILENT, ...options });
    expect(await failureOf((async () => handler.register({ endpointUrl: "http://127.0.0.1/" }))())).toMatchObject({
      name: "TypeError",
      message: expect.stringMatching(message),
    });
    expect((await handler(new Request("http://localhost/", { method: "POST", body: "{}" }))).status).toBe(500);
  });

  test("without workflows: serve says so", () => {
    expect(() => serve({ workflows: [] })).toThrow("workflows must contain at least one workflow");
    expect(() => serve({ workflows: [{}] as never })).toThrow("workflows must be a list");
  });

  test("options that do not exist are named", async () => {
    expect(() => serve({ workflows, secrets: [SECRET] } as never)).toThrow("secrets is not an option of serve. Did you mean secret?");
    const where = { endpointURL: "http://127.0.0.1/" } as never;
    const refused = serve({ workflows, secret: SECRET, url: "http://127.0.0.1:1", key: "k" }).register(where);
    await expect(refused).rejects.toThrow("endpointURL is not an option of register. Did you mean endpointUrl?");
  });
});
