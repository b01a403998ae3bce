import { isDeepStrictEqual } from "node:util";
import { describe, expect, onTestFinished } from "vitest";
import type { WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { brokenTls } from "../harness/broken-tls.ts";
import { putCircuit } from "../harness/engine.ts";
import { freePort } from "../harness/free-port.ts";
import { Handler, isSigned, type Received } from "../harness/handler.ts";
import { type Outcome, type Pushed, pushedWorkflow, SECRET } from "../harness/pushes.ts";
import { type Service, test, until } from "../harness/service.ts";
import { laneOfWorkflow, putWorkflow } from "../harness/workflows.ts";

/** When the circuit of the test lets a probe through. */
/** When the next probes of the circuits of this workspace may start. */
const probeAt = ({ database, key }: Service) =>
  database.query<{ at: string }>(
    "select show_moment(c.probe_at) as at from circuit c join api_key k using (workspace_id) where k.hash = sha256($1::text::bytea)",
    [key],
  );

const COMPLETED = { outcome: "completed", result: 1 };
const NAP = { key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 };

test("an execution is a signed request, and its response ends the run", async ({ service }) => {
  // The result is stored as it is written.
  const body = '{"outcome":"completed","result":{"sent": 12345678901234567890}}';
  const workflow = await pushedWorkflow(service, () => ({ status: 200, body }), { version: "v1" });
  const runId = await workflow.trigger({ input: { userId: "u1" } });
  await workflow.untilStatus(runId, "completed");
  const [received] = workflow.program.received;
  expect(received && isSigned(received, SECRET)).toBe(true);
  expect(received?.headers).toMatchObject({ "x-service-job-id": runId, "x-service-attempt": "1", "content-type": "application/json" });
  expect(workflow.executions()).toEqual([
    {
      kind: "run",
      timeout: 30,
      runId,
      workflowId: workflow.id,
      version: "v1",
      attempt: 1,
      attempts: 3,
      input: { userId: "u1" },
      trigger: { type: "api" },
      createdAt: "2026-11-21T12:00:00.000Z",
      journal: [],
      lease_token: expect.any(String),
      lease_expires_at: "2026-11-21T12:00:30.000Z",
    },
  ]);
  expect((await service.api("GET", `/v1/runs/${runId}`)).text).toContain('"result":{"sent": 12345678901234567890}');
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1, version: "v1" });
});

test("steps are reported during the execution, and a suspended run goes on with its journal", async ({ service }) => {
  const workflow = await pushedWorkflow(service, async (pushed) => {
    if (pushed.kind !== "run") return 500;
    const { runId, lease_token, journal } = pushed;
    if (journal?.length !== 0) return { outcome: "completed", result: journal };
    const steps = [{ key: "charge", type: "run", status: "completed", output: 42 }];
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps })).toEqual({ steps: 1 });
    await service.ok("POST", `/v1/runs/${runId}/events`, { lease_token, key: "tell", name: "user.charged" });
    await service.ok("POST", `/v1/runs/${runId}/signals`, { lease_token, key: "ask", signal: runId });
    return { outcome: "suspended", steps: [NAP] };
  });
  const runId = await workflow.trigger();
  await workflow.untilStatus(runId, "sleeping");
  await service.advance(60);
  await workflow.untilStatus(runId, "completed");
  expect((await workflow.get(runId)).result).toMatchObject([
    { key: "charge", output: 42 },
    { key: "tell", type: "event" },
    { key: "ask", type: "signal" },
    { key: "nap", status: "completed" },
  ]);
  expect(workflow.program.attempts).toEqual([1, 2]);
});

test("a run that waits for a signal goes on when it is completed", async ({ service }) => {
  const workflow = await pushedWorkflow(service, (pushed) => {
    if (pushed.kind !== "run") return 500;
    const [waited] = pushed.journal ?? [];
    if (waited) return { outcome: "completed", result: waited.output };
    return {
      outcome: "suspended",
      steps: [{ key: "wait", type: "wait", status: "waiting", signal: `of.${pushed.runId}`, timeout: 3_600_000 }],
    };
  });
  const runId = await workflow.trigger();
  await workflow.untilStatus(runId, "waiting");
  await service.ok("POST", `/v1/signals/of.${runId}/complete`, { ok: true });
  await workflow.untilStatus(runId, "completed");
  expect((await workflow.get(runId)).result).toEqual({ ok: true });
});

test("a run whose journal does not fit waits until the workflow is registered again, and uses no attempt", async ({ service }) => {
  let fits = false;
  const workflow = await pushedWorkflow(service, () => (fits ? COMPLETED : { outcome: "unfit", step: "load", error: "It does not fit." }), {
    version: "v1",
  });
  const runId = await workflow.trigger();
  await workflow.untilStatus(runId, "waiting");
  expect(await workflow.get(runId)).toMatchObject({ waitingFor: [{ type: "code", step: "load", reason: "It does not fit." }], attempt: 1 });
  fits = true;
  await service.ok("PUT", `/v1/workflows/${workflow.id}`, { endpoint_url: workflow.program.url, version: "v2" });
  await workflow.untilStatus(runId, "completed");
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1, result: 1 });
});

test("a run whose journal does not fit is also sent again after a pause", async ({ service }) => {
  let fits = false;
  const workflow = await pushedWorkflow(service, () => (fits ? COMPLETED : { outcome: "unfit", step: "load", error: "It does not fit." }));
  const runId = await workflow.trigger();
  await workflow.untilStatus(runId, "waiting");
  expect(await workflow.get(runId)).toMatchObject({ waitingFor: [{ type: "code", retryAt: expect.any(String) }] });
  fits = true;
  await service.advance(30);
  await workflow.untilStatus(runId, "completed");
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1, result: 1 });
});

describe("a failed execution", () => {
  const FAILURES: readonly [string, Outcome, object][] = [
    ["with a 500", { status: 500, body: "no" }, { name: "HTTP_STATUS", message: "The handler answered 500: no" }],
    ["with a 400", 400, { name: "HTTP_STATUS" }],
    ["with a redirect", { status: 302, headers: { location: "http://127.0.0.1/" } }, { name: "REDIRECT" }],
    ["without a response", "reset", { name: "CONNECTION" }],
    [
      "with an empty response",
      200,
      { name: "InvalidOutcomeError", message: "The response is not a valid outcome: The body is empty; it must be JSON." },
    ],
    [
      "with a response that is not JSON",
      { status: 200, body: "ok" },
      { name: "InvalidOutcomeError", message: expect.stringContaining("not valid JSON") },
    ],
    ["with an unknown outcome", { outcome: "done" }, { name: "InvalidOutcomeError", message: expect.stringContaining("outcome must be") }],
    [
      "with a field that the outcome does not go with",
      { outcome: "completed", retry: false },
      { name: "InvalidOutcomeError", message: 'The response is not a valid outcome: retry is not allowed with the outcome "completed".' },
    ],
    [
      "with a misspelt field",
      { outcome: "completed", resutl: 1 },
      { name: "InvalidOutcomeError", message: 'The response is not a valid outcome: resutl is not a known field; did you mean "result"?' },
    ],
    [
      "with a step that is wrong",
      { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting" }] },
      { name: "InvalidOutcomeError", message: expect.stringContaining("steps[0].sleepFor must be given for a sleep") },
    ],
    [
      "with a response that is too long",
      { outcome: "completed", result: "x".repeat(300_000) },
      { name: "InvalidOutcomeError", message: "The response is not a valid outcome: it exceeds 262144 bytes." },
    ],
    [
      "as the program reports it",
      { outcome: "failed", error: "It broke.", error_name: "RangeError" },
      { name: "RangeError", message: "It broke." },
    ],
  ];

  test.for(FAILURES)("%s is followed by another one", async ([, failure, error], { service }) => {
    const workflow = await pushedWorkflow(service, (_pushed, { headers }) => (headers["x-service-attempt"] === "1" ? failure : COMPLETED), {
      backoff: { type: "exponential", delay: 60_000 },
    });
    const runId = await workflow.trigger();
    await until(async () => (await workflow.get(runId)).attempt === 2, "the execution to fail");
    expect(await workflow.get(runId)).toMatchObject({ status: "running", error, nextAttemptAt: expect.any(String) });
    await service.advance(75);
    await workflow.untilStatus(runId, "completed");
    expect(await workflow.get(runId)).toMatchObject({ result: 1, error: null, attempt: 2 });
  });

  test("that takes longer than endpoint_timeout is broken off: TIMEOUT", async ({ service }) => {
    const workflow = await pushedWorkflow(service, () => "hang", { endpoint_timeout: 1, attempts: 1 });
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "failed");
    expect(await workflow.get(runId)).toMatchObject({
      error: { name: "TIMEOUT", message: "The program did not respond within 1 s (endpoint_timeout)." },
    });
    await until(() => workflow.program.aborted === 1, "the request to be broken off");
  });

  const FOR_GOOD: readonly [string, Outcome, object][] = [
    ["a 410", 410, { name: "HTTP_STATUS" }],
    ["X-Service-No-Retry", { status: 422, headers: { "x-service-no-retry": "true" } }, { name: "HTTP_STATUS" }],
    ["retry: false", { outcome: "failed", error: "Declined.", retry: false }, { name: "Error", message: "Declined." }],
    [
      "a result that is too large",
      { outcome: "completed", result: "x".repeat(65_536) },
      { name: "ResultTooLargeError", message: "The result has 65538 bytes; the limit is 65536 bytes." },
    ],
  ];
  test.for(FOR_GOOD)("with %s is the last one", async ([, failure, error], { service }) => {
    const workflow = await pushedWorkflow(service, () => failure);
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "failed");
    expect(await workflow.get(runId)).toMatchObject({ error, attempt: 1 });
    expect(workflow.executions()).toHaveLength(1);
  });

  test("with a result that is too large has the steps that came with it", async ({ service }) => {
    const steps = [{ key: "last", type: "run", status: "completed", output: 1 }];
    const workflow = await pushedWorkflow(service, () => ({ outcome: "completed", result: "x".repeat(65_536), steps }));
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "failed");
    expect(await workflow.get(runId)).toMatchObject({ error: { name: "ResultTooLargeError" }, steps: [{ key: "last", output: 1 }] });
  });

  const LATER: readonly [string, Outcome][] = [
    ["Retry-After", { status: 503, headers: { "retry-after": "600" } }],
    ["retry_in", { outcome: "failed", error: "Later.", retry_in: 600 }],
  ];
  test.for(LATER)("with %s is followed by one that comes then", async ([, failure], { service }) => {
    const workflow = await pushedWorkflow(service, (_pushed, { headers }) => (headers["x-service-attempt"] === "1" ? failure : COMPLETED));
    const runId = await workflow.trigger();
    await until(async () => (await workflow.get(runId)).attempt === 2, "the execution to fail");
    expect((await workflow.get(runId)).nextAttemptAt).toBe(new Date(service.clock.nowMs() + 600_000).toISOString());
    await service.advance(599);
    expect(workflow.executions()).toHaveLength(1);
    await service.advance(1);
    await workflow.untilStatus(runId, "completed");
  });
});

/** Stores a step of an execution, with a key that no other one has. */
async function storeStep(service: Service, pushed: Pushed, { headers }: Received): Promise<void> {
  const { runId, lease_token } = pushed;
  const steps = [{ key: `part ${headers["x-service-attempt"]}`, type: "run", status: "completed", output: 1 }];
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps });
}

describe("an execution that ends without an outcome", () => {
  const ENDS: readonly [string, Outcome, object][] = [
    ["when its time is over", "hang", { name: "TIMEOUT" }],
    ["with its connection", "reset", { name: "CONNECTION" }],
    ["with a 504", 504, { name: "HTTP_STATUS" }],
  ];
  test.for(ENDS)("%s uses no attempt if it has stored a step", async ([, end, error], { service }) => {
    const workflow = await pushedWorkflow(
      service,
      async (pushed, received) => {
        if (received.headers["x-service-attempt"] === "3") return COMPLETED;
        await storeStep(service, pushed, received);
        return end;
      },
      { endpoint_timeout: 1, attempts: 1, backoff: { type: "exponential", delay: 60_000 } },
    );
    const runId = await workflow.trigger();
    for (const count of [1, 2]) {
      const hasEnded = async () => workflow.executions().length === count && (await workflow.get(runId)).nextAttemptAt !== null;
      await until(hasEnded, `execution ${count} to end`);
      expect(await workflow.get(runId)).toMatchObject({ status: "running", attempt: 1, error });
      await service.advance(75);
    }
    await workflow.untilStatus(runId, "completed");
    expect(await workflow.get(runId)).toMatchObject({ attempt: 1, error: null, steps: [{ key: "part 1" }, { key: "part 2" }] });
  });

  test("uses an attempt if it has stored nothing, whatever earlier ones have stored", async ({ service }) => {
    const workflow = await pushedWorkflow(
      service,
      async (pushed, received): Promise<Outcome> => {
        if (received.headers["x-service-attempt"] === "1") await storeStep(service, pushed, received);
        return "reset";
      },
      { attempts: 2, backoff: { type: "exponential", delay: 10 } },
    );
    const runId = await workflow.trigger();
    await service.untilIdle();
    expect(await workflow.get(runId)).toMatchObject({ status: "failed", attempt: 2, error: { name: "CONNECTION" } });
    expect(workflow.executions()).toHaveLength(3);
  });

  test("uses no further attempt if the program wants none", async ({ service }) => {
    const workflow = await pushedWorkflow(service, async (pushed, received) => {
      await storeStep(service, pushed, received);
      return 410;
    });
    const runId = await workflow.trigger();
    await workflow.untilStatus(runId, "failed");
    expect(workflow.executions()).toHaveLength(1);
  });
});

test("an execution that is released after it has stored a step goes on at once, and uses no attempt", async ({ service }) => {
  const workflow = await pushedWorkflow(
    service,
    async (pushed, received) => {
      if (received.headers["x-service-attempt"] === "3") return COMPLETED;
      await storeStep(service, pushed, received);
      return { outcome: "released" };
    },
    { attempts: 1 },
  );
  const runId = await workflow.trigger();
  await workflow.untilStatus(runId, "completed");
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1 });
});

test.for([{ outcome: "released" }, { outcome: "released", retry_in: 1 }])(
  "an execution that is released closes the circuit: %o",
  async (released, { service }) => {
    const workflow = await pushedWorkflow(service, () => (workflow.executions().length === 1 ? released : COMPLETED), {});
    await putCircuit(service.database, await laneOfWorkflow(service, workflow.id));
    const runId = await workflow.trigger();
    await until(() => workflow.executions().length === 1, "the run to be the probe");
    await until(async () => (await probeAt(service)).length === 0, "the circuit to be closed");
    await service.advance(2);
    await workflow.untilStatus(runId, "completed");
  },
);

test("an execution that is released comes again, and uses no attempt", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => (workflow.executions().length === 1 ? { outcome: "released" } : COMPLETED), {
    attempts: 1,
  });
  const runId = await workflow.trigger();
  await until(() => workflow.executions().length === 1, "the run to be executed");
  await until(async () => (await service.jobStates()).delayed === 1, "the run to be released");
  await service.advance(1);
  await workflow.untilStatus(runId, "completed");
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1 });
});

test("a cancel breaks off the execution", async ({ service }) => {
  const workflow = await pushedWorkflow(service, (pushed) => (pushed.kind === "hook" ? { outcome: "completed" } : "hang"), {
    hooks: ["onCancel"],
  });
  const runId = await workflow.trigger();
  await until(() => workflow.program.open === 1, "the run to be executed");
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  await until(() => workflow.program.aborted === 1, "the request to be broken off");
  await until(() => workflow.executions().length === 2, "onCancel to fire");
  expect(workflow.executions()[1]).toMatchObject({ kind: "hook", hook: "onCancel", runId });
  expect(await workflow.get(runId)).toMatchObject({ status: "cancelled" });
});

test("a deleted workflow breaks off its executions", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => "hang");
  await workflow.trigger();
  await until(() => workflow.program.open === 1, "the run to be executed");
  await service.ok("DELETE", `/v1/workflows/${workflow.id}`);
  await until(() => workflow.program.aborted === 1, "the request to be broken off");
});

test("no more executions are sent at once than the concurrency allows", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => "hang", { concurrency: 2 });
  for (let count = 0; count < 4; count += 1) await workflow.trigger();
  await until(() => workflow.program.open === 2, "two runs to be executed");
  workflow.program.answers = { status: 200, body: JSON.stringify(COMPLETED) };
  workflow.program.reset();
  await until(
    async () => (await service.ok("GET", `/v1/runs?workflowId=${workflow.id}&status=completed`)).data.length >= 2,
    "others to follow",
  );
  expect(workflow.program.maxOpen()).toBe(2);
});

test.for([
  { attempts: 1, when: "of the last attempt" },
  { attempts: 3, when: "of an earlier attempt" },
])("a failure $when uses no attempt while another node has opened the circuit", async ({ attempts }, { service }) => {
  const answer = Promise.withResolvers<number>();
  const workflow = await pushedWorkflow(service, () => answer.promise, { attempts });
  const runId = await workflow.trigger();
  await until(() => workflow.program.received.length === 1, "the execution to be sent");
  const [lane] = await service.database.query<{ workspaceId: WorkspaceId; laneId: LaneId }>(
    'select workspace_id as "workspaceId", lane_id as "laneId" from run where id = $1',
    [readRunId(runId)],
  );
  await putCircuit(service.database, lane as LaneKey, { inSeconds: 60 });
  answer.resolve(500);
  await until(async () => (await service.jobStates()).waiting === 1, "the run to be held");
  const [{ at } = {}] = await probeAt(service);
  expect(at).toBeTypeOf("string");
  expect(await workflow.get(runId)).toMatchObject({ status: "running", attempt: 1, nextAttemptAt: at, error: { name: "HTTP_STATUS" } });
  workflow.program.answers = { status: 200, body: JSON.stringify(COMPLETED) };
  await service.advance(60);
  await workflow.untilStatus(runId, "completed");
  expect(await workflow.get(runId)).toMatchObject({ attempt: 1 });
});

describe("a program that refuses the request", () => {
  test.for([401, 403, 404, 405])("with %i uses no attempts: the run says why it waits, and goes on later", async (status, { service }) => {
    let isThere = false;
    const workflow = await pushedWorkflow(service, () => (isThere ? COMPLETED : { status, body: "no" }), { attempts: 1 });
    const runId = await workflow.trigger();
    await until(async () => (await workflow.get(runId)).error !== null, "the run to be tried");
    expect(await workflow.get(runId)).toMatchObject({
      status: "running",
      attempt: 1,
      error: { name: "HTTP_STATUS", message: `The handler answered ${status}: no` },
      nextAttemptAt: expect.any(String),
    });
    isThere = true;
    await service.advance(2);
    await workflow.untilStatus(runId, "completed");
    expect(await workflow.get(runId)).toMatchObject({ attempt: 1, error: null });
  });

  test("20 times in a row opens its circuit", async ({ service }) => {
    const workflow = await pushedWorkflow(service, () => 404, { attempts: 1 });
    const runIds: string[] = [];
    for (let count = 0; count < 20; count += 1) runIds.push(await workflow.trigger());
    const [first = ""] = runIds;
    await until(async () => {
      const { gates } = await service.ok("GET", `/v1/runs/${first}/explain`);
      return gates.some(({ gate, holds }: { gate: string; holds: boolean }) => gate === "circuit" && holds);
    }, "the circuit to open");
    expect(await workflow.get(first)).toMatchObject({ status: "running", attempt: 1 });
  });
});

describe("a program at which nobody listens", () => {
  test("uses no attempts: the run says why it waits, and goes on when the program is back", async ({ service }) => {
    const port = await freePort();
    const { id, trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${port}/`, attempts: 1 });
    const runId = await trigger();
    const untilTried = (times: number) =>
      until(async () => {
        const [job] = await service.database.query("select attempt, state from job where id = $1", [readRunId(runId)]);
        return isDeepStrictEqual({ ...job }, { attempt: times, state: "delayed" });
      }, `attempt ${times} to be refused`);
    for (let times = 1; times <= 3; times += 1) {
      if (times > 1) await service.advance(2);
      await untilTried(times);
      expect(await get(runId)).toMatchObject({
        status: "running",
        attempt: 1,
        error: { name: "CONNECTION", message: expect.stringContaining("ECONNREFUSED") },
        nextAttemptAt: expect.any(String),
      });
    }
    const program = await Handler.listen({ status: 200, body: JSON.stringify(COMPLETED) }, port);
    onTestFinished(() => program.close());
    await service.advance(2);
    await until(async () => (await get(runId)).status === "completed", "the run to go on");
    expect(await get(runId)).toMatchObject({ workflowId: id, attempt: 1, error: null, result: 1 });
  });

  test.for(["closes", "untrusted"] as const)("uses no attempts if its TLS connection cannot be made: %s", async (fault, { service }) => {
    const { trigger, get } = await putWorkflow(service, { endpoint_url: await brokenTls(fault), attempts: 1 });
    const runId = await trigger();
    await until(async () => (await get(runId)).error !== null, "the run to be tried");
    expect(await get(runId)).toMatchObject({
      status: "running",
      attempt: 1,
      error: { name: "CONNECTION" },
      nextAttemptAt: expect.any(String),
    });
  });

  test("uses no attempts if no connection is made within endpoint_timeout", async ({ service }) => {
    const { trigger, get } = await putWorkflow(service, { endpoint_url: await brokenTls("hangs"), endpoint_timeout: 1, attempts: 1 });
    const runId = await trigger();
    await until(async () => (await get(runId)).error !== null, "the run to be tried");
    expect(await get(runId)).toMatchObject({
      status: "running",
      attempt: 1,
      error: { name: "TIMEOUT", message: "No connection was made in time." },
      nextAttemptAt: expect.any(String),
    });
  });

  test("is forgotten once an execution has reached it", async ({ service }) => {
    const port = await freePort();
    const { trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${port}/` });
    const runId = await trigger();
    await until(async () => (await get(runId)).error !== null, "the run to be tried");
    const program = await Handler.listen({ status: 200, body: JSON.stringify({ outcome: "suspended", steps: [NAP] }) }, port);
    onTestFinished(() => program.close());
    await service.advance(2);
    await until(async () => (await get(runId)).status === "sleeping", "the run to be suspended");
    expect(await get(runId)).toMatchObject({ attempt: 1, error: null, nextAttemptAt: null });
  });

  test.for([
    { what: "does not fit", ends: { outcome: "unfit", step: "load", error: "It does not fit." } },
    { what: "is released", ends: { outcome: "released", retry_in: 60 } },
    { what: "is suspended", ends: { outcome: "suspended", steps: [NAP] } },
  ])("hides the error of the run's last attempt until an execution has reached it: one that $what", async ({ ends }, { service }) => {
    const port = await freePort();
    const workflow = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${port}/`, attempts: 5 });
    const before = await Handler.listen(
      { status: 200, body: JSON.stringify({ outcome: "failed", error: "It broke.", error_name: "Broken" }) },
      port,
    );
    const runId = await workflow.trigger();
    await until(async () => (await workflow.get(runId)).error?.name === "Broken", "the first attempt to fail");
    await before.close();
    await service.advance(11);
    await until(async () => (await workflow.get(runId)).error?.name === "CONNECTION", "an execution to be refused");
    const program = await Handler.listen({ status: 200, body: JSON.stringify(ends) }, port);
    onTestFinished(() => program.close());
    await service.advance(11);
    await until(async () => (await workflow.get(runId)).error?.name === "Broken", "the other error to be gone");
    expect(await workflow.get(runId)).toMatchObject({ attempt: 2 });
  });

  test("shows the next probe of its circuit while no run is tried before", async ({ service }) => {
    const { id, trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${await freePort()}/` });
    const runId = await trigger();
    await until(async () => (await service.jobStates()).delayed === 1, "the run to be tried");
    await putCircuit(service.database, await laneOfWorkflow(service, id), { inSeconds: 60 });
    await service.advance(10);
    await until(async () => (await service.jobStates()).waiting === 1, "the run to be due");
    const [{ at } = {}] = await probeAt(service);
    expect(at).toBeTypeOf("string");
    expect(await get(runId)).toMatchObject({ status: "running", error: { name: "CONNECTION" }, nextAttemptAt: at });
    expect((await service.ok("GET", "/v1/runs")).data).toMatchObject([{ runId, nextAttemptAt: at }]);
  });

  test("shows when its circuit lets a run through next", async ({ service }) => {
    const { trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${await freePort()}/` });
    const runId = await trigger();
    await until(async () => (await get(runId)).error !== null, "the run to be tried");
    const [lane] = await service.database.query<{ workspaceId: WorkspaceId; laneId: LaneId }>(
      'select workspace_id as "workspaceId", lane_id as "laneId" from run where id = $1',
      [readRunId(runId)],
    );
    await putCircuit(service.database, lane as LaneKey, { inSeconds: 1 });
    await service.database.query("update circuit set opened_at = moment() - interval '8 minutes' where lane_id = $1", [lane?.laneId]);
    const job = async () =>
      (
        await service.database.query<{ attempt: number; at: string; state: string }>(
          `select attempt, state, to_char(run_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at from job where id = $1`,
          [readRunId(runId)],
        )
      )[0];
    await service.advance(5);
    await until(async () => {
      const { attempt = 0, state } = (await job()) ?? {};
      return attempt > 1 && state === "delayed";
    }, "the probe to fail");
    expect((await get(runId)).nextAttemptAt).toBe((await job())?.at);
  });

  test.for([{ runs: 1 }, { runs: 2 }])(
    "does not keep the probes of its circuit for their backoff ($runs runs)",
    async ({ runs }, { service }) => {
      const port = await freePort();
      const { id, trigger, get } = await putWorkflow(service, {
        endpoint_url: `http://127.0.0.1:${port}/`,
        backoff: { type: "exponential", delay: 3_600_000 },
      });
      const runIds = await Promise.all(Array.from({ length: runs }, () => trigger()));
      await until(async () => (await service.jobStates()).delayed === runs, "the runs to be tried");
      const lane = await laneOfWorkflow(service, id);
      await putCircuit(service.database, lane, { inSeconds: 1 });
      await service.database.query("update circuit set opened_at = moment() - interval '8 minutes', probes = 9 where lane_id = $1", [
        lane.laneId,
      ]);
      await service.advance(10);
      const probed = () => service.database.query("select from circuit where lane_id = $1 and probes = 10", [lane.laneId]);
      await until(async () => (await probed()).length === 1, "a probe to fail");
      const program = await Handler.listen({ status: 200, body: JSON.stringify(COMPLETED) }, port);
      onTestFinished(() => program.close());
      // As a program that starts does.
      await service.ok("PUT", `/v1/workflows/${id}`, { endpoint_url: `http://127.0.0.1:${port}/` });
      await service.advance(10);
      for (const runId of runIds) await until(async () => (await get(runId)).status === "completed", "the run to go on");
    },
  );

  test("opens the circuit after 20 tries of one run", async ({ service }) => {
    const { trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${await freePort()}/`, attempts: 1 });
    const runId = await trigger();
    await until(async () => {
      await service.advance(2);
      const open = await service.database.query("select from circuit where lane_id = (select lane_id from run where id = $1)", [
        readRunId(runId),
      ]);
      return open.length === 1;
    }, "the circuit to open");
    expect(await get(runId)).toMatchObject({ status: "running", attempt: 1 });
  });
});

test("an undo at a program at which nobody listens is shown in its run until it has ended", async ({ service }) => {
  const port = await freePort();
  const { trigger, get } = await putWorkflow(service, { endpoint_url: `http://127.0.0.1:${port}/` });
  const paid = { key: "pay", type: "run", status: "completed", output: 1, undoable: true };
  const program = await Handler.listen({ status: 200, body: JSON.stringify({ outcome: "suspended", steps: [paid, NAP] }) }, port);
  const runId = await trigger();
  await until(async () => (await get(runId)).status === "sleeping", "the run to be suspended");
  await program.close();
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  await until(async () => (await service.jobStates()).delayed === 1, "the undo to be refused");
  const lastError = { code: "CONNECTION", message: expect.stringContaining("ECONNREFUSED"), status: null };
  expect(await get(runId)).toMatchObject({
    status: "cancelled",
    error: null,
    nextAttemptAt: null,
    undoErrors: [],
    waitingFor: [{ type: "undo", nextAttemptAt: expect.any(String), lastError }],
  });
  const undone = { key: "undo(pay)", type: "undo", status: "completed" };
  const back = await Handler.listen({ status: 200, body: JSON.stringify({ outcome: "completed", steps: [undone] }) }, port);
  onTestFinished(() => back.close());
  await service.advance(2);
  await until(async () => (await get(runId)).waitingFor.length === 0, "the undo to end");
  expect(await get(runId)).toMatchObject({
    status: "cancelled",
    steps: [{ key: "pay" }, { key: "undo(pay)" }, { key: "nap" }],
    undoErrors: [],
  });
});

test("a program at an address that it may not have uses attempts", async ({ service }) => {
  const { id, trigger, get } = await putWorkflow(service, { endpoint_url: "http://127.0.0.1:9/", attempts: 1 });
  await service.database.query("update workflow set endpoint_url = 'http://10.0.0.1/'");
  const runId = await trigger();
  await until(async () => (await get(runId)).status === "failed", "the run to fail");
  expect(await get(runId)).toMatchObject({ workflowId: id, error: { name: "BLOCKED_ADDRESS" } });
});

test("20 failures in a row open the circuit, and runs wait without using attempts until a probe succeeds", async ({ service }) => {
  const workflow = await pushedWorkflow(service, () => 500, { attempts: 1, concurrency: 1 });
  const failed: string[] = [];
  for (let count = 0; count < 20; count += 1) {
    const runId = await workflow.trigger();
    await until(
      async () => (await workflow.get(runId)).status === "failed" || (await service.jobStates()).delayed === 1,
      "the run to be tried",
    );
    failed.push(runId);
  }
  const open = await service.database.query("select from circuit where lane_id = (select lane_id from run where id = $1)", [
    readRunId(failed[0] ?? ""),
  ]);
  expect(open).toHaveLength(1);
  const held = await workflow.trigger();
  // The first probe fails. Its execution has ended, and may not report steps any more.
  await service.advance(60);
  await until(async () => {
    const [run] = await service.database.query(
      "select status, last_execution::int as execution, open_lease_id as lease from run where id = $1",
      [readRunId(held)],
    );
    return isDeepStrictEqual({ ...run }, { status: "running", execution: 1, lease: null });
  }, "the run to be held after an execution");
  workflow.program.answers = { status: 200, body: JSON.stringify(COMPLETED) };
  await service.advance(60);
  await service.advance(60);
  await workflow.untilStatus(held, "completed");
  expect(await workflow.get(held)).toMatchObject({ attempt: 1 });
});
