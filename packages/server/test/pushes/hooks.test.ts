import { describe, expect } from "vitest";
import { laneOf, putCircuit } from "../harness/engine.ts";
import { freePort } from "../harness/free-port.ts";
import { Handler } from "../harness/handler.ts";
import { LONG_NODE_LEASE, testWith } from "../harness/nodes.ts";
import { type Outcome, type PushedWorkflow, pushedWorkflow } from "../harness/pushes.ts";
import { type Service, test, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

/** A workflow whose runs complete, and whose onSuccess does this. */
const hooked = (service: Service, hook: Outcome, settings: object = {}) =>
  pushedWorkflow(service, (pushed) => (pushed.kind === "hook" ? hook : { outcome: "completed", result: { n: 1 } }), {
    hooks: ["onSuccess"],
    ...settings,
  });

const errorsOf = async (workflow: PushedWorkflow, runId: string): Promise<string[]> => {
  await until(async () => (await workflow.get(runId)).hookErrors.length > 0, "the error of the hook to be recorded");
  return (await workflow.get(runId)).hookErrors.map(({ message }) => message);
};

const pushedHooks = (workflow: PushedWorkflow) => workflow.executions().filter(({ kind }) => kind === "hook");

test("a hook is pushed to the endpoint, signed and with its id", async ({ service }) => {
  const workflow = await hooked(service, { outcome: "completed" });
  const runId = await workflow.trigger();
  await until(() => pushedHooks(workflow).length === 1, "onSuccess to fire");
  expect(pushedHooks(workflow)).toEqual([
    {
      kind: "hook",
      id: expect.stringMatching(/^hook_/),
      workflowId: workflow.id,
      hook: "onSuccess",
      runId,
      attempt: 1,
      result: { n: 1 },
      lease_token: expect.any(String),
      lease_expires_at: "2026-11-21T12:15:00.000Z",
    },
  ]);
  await until(async () => (await service.jobStates()).active === undefined, "the hook to be settled");
  expect(await workflow.get(runId)).toMatchObject({ status: "completed", hookErrors: [] });
});

describe("a hook fires once: it is recorded, and not repeated, when the endpoint", () => {
  const FAILURES: readonly [string, Outcome, string | RegExp][] = [
    ["reports an error", { outcome: "failed", error: "No mail today." }, "No mail today."],
    ["reports one that may be tried again", { outcome: "failed", error: "Later.", retry: true, retry_in: 1 }, "Later."],
    ["responds with a 500", 500, "The handler answered 500."],
    ["responds with a 503 and Retry-After", { status: 503, headers: { "retry-after": "1" } }, "The handler answered 503."],
    ["breaks the connection", "reset", /./],
    ["responds with something else", { status: 200, body: "ok" }, /^The response is not a valid outcome/],
    [
      "says that it is suspended",
      { outcome: "suspended", steps: [] },
      "The response is not a valid outcome: The outcome suspended is only for runs.",
    ],
  ];
  test.for(FAILURES)("%s", async ([, failure, message], { service }) => {
    const workflow = await hooked(service, failure);
    const runId = await workflow.trigger();
    expect(await errorsOf(workflow, runId)).toEqual([expect.stringMatching(message)]);
    await service.advance(3_600);
    expect(pushedHooks(workflow)).toHaveLength(1);
    expect(await workflow.get(runId)).toMatchObject({ status: "completed" });
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=workflow.hook.errored");
    expect(data).toHaveLength(1);
  });

  test("responds with a 500 while the circuit is open", async ({ service }) => {
    const workflow = await pushedWorkflow(
      service,
      async (pushed) => {
        if (pushed.kind === "hook") return 500;
        await putCircuit(service.database, await laneOf(service, pushed.workflowId));
        return { outcome: "completed" };
      },
      { hooks: ["onSuccess"] },
    );
    const runId = await workflow.trigger();
    expect(await errorsOf(workflow, runId)).toEqual(["The handler answered 500."]);
    await service.advance(3_600);
    expect(pushedHooks(workflow)).toHaveLength(1);
  });
});

describe("a hook whose endpoint nobody listens at", () => {
  /** A run was cancelled, and its onCancel was sent to a port at which nobody listens. */
  async function sendToNobody(service: Service) {
    const port = await freePort();
    const settings = { hooks: ["onCancel"] };
    const { id, trigger, take, get } = await putWorkflow(service, settings);
    const runId = await trigger();
    await take();
    await service.ok("PUT", `/v1/workflows/${id}`, { ...settings, endpoint_url: `http://127.0.0.1:${port}/` });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    const attempts = async () =>
      (await service.database.query<{ attempt: number }>("select attempt from job where kind = 'hook' and state = 'delayed'"))[0];
    await until(async () => (await attempts())?.attempt === 1, "the hook to be refused");
    return { port, attempts, hookErrors: async () => (await get(runId)).hookErrors };
  }

  test("fires when the program is back", async ({ service }) => {
    const { port, hookErrors } = await sendToNobody(service);
    expect(await hookErrors()).toEqual([]);
    const program = await Handler.listen({ status: 200, body: JSON.stringify({ outcome: "completed" }) }, port);
    try {
      await service.advance(2);
      await until(() => program.received.length === 1, "onCancel to fire");
      await until(async () => Object.keys(await service.jobStates()).length === 0, "the hook to be settled");
      expect(await hookErrors()).toEqual([]);
    } finally {
      await program.close();
    }
  });

  test("is recorded after ten attempts", async ({ service }) => {
    const { attempts, hookErrors } = await sendToNobody(service);
    for (let attempt = 2; attempt < 10; attempt += 1) {
      await service.advance(600);
      await until(async () => (await attempts())?.attempt === attempt, `attempt ${attempt}`);
    }
    expect(await hookErrors()).toEqual([]);
    await service.advance(600);
    await until(async () => (await hookErrors()).length === 1, "the error of the hook to be recorded");
    expect(await hookErrors()).toMatchObject([{ hook: "onCancel", message: expect.stringContaining("ECONNREFUSED") }]);
  });
});

const testInTime = testWith(LONG_NODE_LEASE);

testInTime("a hook may take longer than endpoint_timeout, and than 30 s, and is recorded as slow", async ({ service, clock }) => {
  const workflow = await hooked(service, "hang", { endpoint_timeout: 20 });
  const runId = await workflow.trigger();
  await until(() => workflow.program.open === 1, "onSuccess to begin");
  const handler = await service.handler({ answers: "hang", callback_timeout: 20 });
  const job = { queue: handler.queue, ...(await service.enqueue({ queue: handler.queue })) };
  await until(() => handler.open === 1, "an attempt to begin");
  clock.pass(31);
  await service.advance(31);
  // Deadlines were looked at when this one has ended.
  await service.untilState(job, "delayed");
  workflow.program.release(200);
  expect(await errorsOf(workflow, runId)).toEqual([expect.stringMatching(/^The response is not a valid outcome/)]);
  const { data } = await service.ok("GET", "/v1/audit-events?event_type=workflow.hook.slow");
  expect(data).toMatchObject([{ resource_id: runId, output: { took_ms: 31_000 } }]);
});
