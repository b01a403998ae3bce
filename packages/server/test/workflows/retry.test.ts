import { LIMITS } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { type RunId, rows, sql, uuidOf, type WorkspaceId } from "#kernel";
import { SYSTEM } from "#workspaces";
import { retryRun } from "../../src/workflows/runs/retry.ts";
import { test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { backendOf, untilWaitingFor } from "../harness/locks.ts";
import { type Service, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const retry = (service: Service, runId: string) => service.api("POST", `/v1/runs/${runId}/retry`);
const step = (key: string, more: object = {}) => ({ key, type: "run", status: "completed", output: key, ...more });
const failure = (key: string, error: object) => step(key, { status: "failed", output: undefined, error });

/** A run that has failed for good, after these steps. */
async function failedRun(service: Service, steps: object[], error: object = { error: "Declined.", error_name: "CardError" }) {
  const workflow = await putWorkflow(service, { attempts: 1 });
  await workflow.trigger({ input: 1 });
  const run = await workflow.take();
  await service.ok("POST", `/v1/runs/${run.runId}/steps`, { lease_token: run.lease_token, steps });
  await workflow.end(run, { outcome: "failed", ...error });
  return { ...workflow, run };
}

describe("the retry of a failed run", () => {
  test("keeps completed steps, and forgets the failure that ended it", async ({ service }) => {
    const declined = { name: "CardError", message: "Declined." };
    const { run, take, end, get } = await failedRun(service, [step("load"), failure("charge", declined), step("log")]);
    const { status, body } = await retry(service, run.runId);
    expect([status, body]).toMatchObject([200, { status: "running", attempt: 1, error: null, endedAt: null }]);
    expect(body.steps.map(({ key }: { key: string }) => key)).toEqual(["load", "log"]);
    const again = await take();
    expect(again.journal.map(({ key }) => key)).toEqual(["load", "log"]);
    const report = { lease_token: again.lease_token, steps: [step("charge")] };
    expect(await service.ok("POST", `/v1/runs/${run.runId}/steps`, report)).toEqual({ steps: 3 });
    await end(again, { outcome: "completed", result: "ok" });
    const ended = await get(run.runId);
    expect(ended).toMatchObject({ status: "completed", result: "ok" });
    expect(ended.steps.map(({ key }) => key)).toEqual(["load", "log", "charge"]);
  });

  test("keeps failures that the workflow caught", async ({ service }) => {
    const caught = failure("mail", { name: "Error", message: "No mail today." });
    const { run } = await failedRun(service, [caught, step("post"), failure("charge", { message: "Declined.", name: "CardError" })]);
    expect((await retry(service, run.runId)).body.steps).toMatchObject([{ key: "mail", status: "failed" }, { key: "post" }]);
  });

  test("keeps all failures if none has the error of the run", async ({ service }) => {
    const { run } = await failedRun(service, [failure("mail", { name: "Error", message: "No mail today." })]);
    expect((await retry(service, run.runId)).body.steps).toMatchObject([{ key: "mail", status: "failed" }]);
  });

  test("forgets what the program named, whatever became of it", async ({ service }) => {
    const steps = [
      failure("mail", { name: "Error", message: "No mail today." }),
      failure("ship", { name: "E", message: "e" }),
      step("refund"),
    ];
    const retry_steps = ["ship", "refund", "never stored"];
    const { run, take } = await failedRun(service, steps, { error: "Not shipped.", error_name: "Error", retry_steps });
    expect((await retry(service, run.runId)).body.steps).toMatchObject([{ key: "mail" }]);
    const again = await take();
    const report = { lease_token: again.lease_token, steps: [step("mail"), step("ship")] };
    await service.ok("POST", `/v1/runs/${run.runId}/steps`, report);
    expect((await service.ok("GET", `/v1/runs/${run.runId}`)).steps.map(({ key }: { key: string }) => key)).toEqual(["mail", "ship"]);
  });

  test("forgets as many steps as a journal has", async ({ service }) => {
    const retry_steps = Array.from({ length: LIMITS.journalSteps }, (_, at) => `step ${at}`);
    const steps = [step("load"), step("step 0"), step(`step ${LIMITS.journalSteps - 1}`)];
    const { run } = await failedRun(service, steps, { error: "Not shipped.", retry_steps });
    expect((await retry(service, run.runId)).body.steps).toMatchObject([{ key: "load" }]);
  });

  test("gives it fresh attempts", async ({ service }) => {
    const { run, take, end, get } = await failedRun(service, [step("load")]);
    await retry(service, run.runId);
    const again = await take();
    expect([again.attempt, again.attempts]).toEqual([1, 1]);
    await end(again, { outcome: "failed", error: "Again." });
    expect(await get(run.runId)).toMatchObject({ status: "failed", error: { message: "Again." } });
  });

  test("does not count as another execution", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const { run } = await failedRun(limited, [step("load")]);
    expect((await retry(limited, run.runId)).status).toBe(200);
    expect((await limited.ok("GET", "/v1/usage")).executions.total).toBe(1);
  });

  test("is audited", async ({ service }) => {
    const { run } = await failedRun(service, [step("load")]);
    await retry(service, run.runId);
    expect((await service.ok("GET", "/v1/audit-events?event_type=run.retried")).data).toMatchObject([
      { resource_type: "run", resource_id: run.runId, actor_id: expect.stringMatching(/^key_/) },
    ]);
  });

  test("sent several times at once lets it go on once", async ({ service }) => {
    const { run, id, work } = await failedRun(service, [step("load")]);
    const replies = await Promise.all([retry(service, run.runId), retry(service, run.runId), retry(service, run.runId)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await work({ workflows: [id], limit: 10 })).runs).toHaveLength(1);
  });

  test("leaves the token of an earlier execution without effect", async ({ service }) => {
    const { run, take, end, get } = await failedRun(service, [step("load")]);
    await retry(service, run.runId);
    await take();
    expect(await end(run, { outcome: "completed" })).toMatchObject({ ok: false, code: "LEASE_LOST" });
    expect(await get(run.runId)).toMatchObject({ status: "running" });
  });
});

describe("the next attempt of a run", () => {
  /** A run that has these steps, and an attempt that fails. Returns the keys of the journal of the next one. */
  async function nextJournal(service: Service, steps: object[], more: object) {
    const { trigger, take, end } = await putWorkflow(service, { attempts: 2 });
    const runId = await trigger();
    const run = await take();
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
    await end(run, { outcome: "failed", error: "Declined.", ...more });
    await service.advance(30);
    const again = await take();
    const late = await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: again.lease_token, steps: [step("late")] });
    return { keys: again.journal.map(({ key }) => key), late };
  }

  const declined = failure("charge", { name: "CardError", message: "Declined." });

  test("executes again what the program named, if it has failed or was cancelled", async ({ service }) => {
    const steps = [step("load"), declined, step("nap", { type: "sleep", status: "cancelled", output: undefined }), step("log")];
    const retry_steps = ["load", "charge", "nap", "never stored"];
    const { keys, late } = await nextJournal(service, steps, { retry: true, retry_steps, steps: [step("sent with the end")] });
    expect(keys).toEqual(["load", "log", "sent with the end"]);
    expect(late).toEqual({ steps: 4 });
  });

  test("keeps what the program named only for a retry of the run", async ({ service }) => {
    const { keys } = await nextJournal(service, [declined, step("refund")], { retry_steps: ["charge", "refund"] });
    expect(keys).toEqual(["charge", "refund"]);
  });
});

describe("the retry of a cancelled run", () => {
  test("lets its sleep go on", async ({ service }) => {
    const { trigger, take, end, id, work } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "suspended", steps: [{ key: "s", type: "sleep", status: "waiting", sleepFor: 60_000 }] });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await service.advance(30);
    await retry(service, runId);
    const again = await take();
    expect(again.journal).toMatchObject([{ key: "s", status: "waiting" }]);
    await end(again, { outcome: "suspended", steps: [] });
    expect((await work({ workflows: [id] })).runs).toEqual([]);
    await service.advance(31);
    expect((await take()).journal).toMatchObject([{ key: "s", status: "completed" }]);
  });

  test("that never started is pending again", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    const runId = await trigger();
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect((await retry(service, runId)).body).toMatchObject({ status: "pending" });
    expect((await take()).runId).toBe(runId);
  });

  test("is not told to the worker as cancelled, when it has taken it again", async ({ service }) => {
    const { trigger, take, id, work } = await putWorkflow(service);
    const runId = await trigger();
    await take();
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await retry(service, runId);
    const { runs, cancelled } = await work({ workflows: [id] });
    expect([runs.map((run) => run.runId), cancelled]).toEqual([[runId], []]);
  });
});

describe("a retry is refused for a run that", () => {
  test("is pending, running or completed", async ({ service }) => {
    const { trigger, take, end } = await putWorkflow(service);
    const runId = await trigger();
    const refused = async (state: string) => {
      const { status, body } = await retry(service, runId);
      expect([status, body.error.code, body.error.details]).toEqual([
        409,
        "INVALID_STATE",
        { state, allowed_from: ["failed", "cancelled"] },
      ]);
      expect(body.error.message).toBe(
        `The run ${runId} is ${state}. A run is retried once it has failed, was cancelled or waits for code.`,
      );
    };
    await refused("pending");
    const run = await take();
    await refused("running");
    await end(run, { outcome: "completed" });
    await refused("completed");
  });

  test("is not there", async ({ service }) => {
    expect((await retry(service, "run_01kajv3k4ve6nsd9z5kgtzx0rw")).status).toBe(404);
  });
});

test("a cancel during which a retry is stored leaves no job behind, and the run can be retried again", async ({ service, engine }) => {
  const { run, take } = await failedRun(service, [step("load")]);
  const key = { workspaceId: uuidOf("ws", service.workspaceId) as WorkspaceId, id: uuidOf("run", run.runId) as RunId };
  const audit = { record: async () => {} } as never;
  const cancelled = await engine.transaction(async (tx) => {
    // The cancel has looked for a job of the run by then, and not yet at the run.
    await rows(tx, sql`select from run where id = ${key.id} for no key update`);
    const reply = service.api("POST", `/v1/runs/${run.runId}/cancel`);
    await untilWaitingFor(engine, await backendOf(tx), 1);
    await retryRun({ query: tx.query, transaction: (work) => work(tx) }, audit, { actorId: SYSTEM }, key);
    return [reply];
  });
  expect(await cancelled[0]).toMatchObject({ status: 200, body: { status: "cancelled" } });
  expect(await service.database.query("select state from job where id = $1", [key.id])).toEqual([]);
  expect((await retry(service, run.runId)).status).toBe(200);
  expect((await take()).journal).toMatchObject([{ key: "load" }]);
});

test("a run whose job is gone is cancelled, and its attempts go on from the last one", async ({ service }) => {
  const { trigger, take, end } = await putWorkflow(service);
  const runId = await trigger();
  await end(await take(), { outcome: "released" });
  await take();
  const id = uuidOf("run", runId);
  const [last] = await service.database.query<{ attempt: number }>("delete from job where id = $1 returning attempt", [id]);
  expect(last?.attempt).toBeGreaterThan(1);
  expect(await service.api("POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: 200, body: { status: "cancelled" } });
  expect((await retry(service, runId)).status).toBe(200);
  await take();
  expect(await service.database.query("select attempt from job where id = $1", [id])).toEqual([{ attempt: (last?.attempt ?? 0) + 1 }]);
});

test("a retry counts responses that its run has waited for once", async ({ service }) => {
  const handler = await service.handler({ answers: { status: 200, body: JSON.stringify("x".repeat(1_000_000)) } });
  const { trigger, take, end, get } = await putWorkflow(service, { attempts: 1 });
  const runId = await trigger();
  const run = await take();
  const steps = Array.from({ length: 20 }, (_, at) => ({ key: `h${at}`, type: "http", status: "waiting", http: { url: handler.url } }));
  await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps });
  const answered = () => service.database.query("select from run_step where answered_at is not null");
  await until(async () => (await answered()).length === steps.length, "all to be answered");
  await end(run, { outcome: "failed", error: "Declined.", retry: false });
  expect((await retry(service, runId)).status).toBe(200);
  await take();
  expect((await get(runId)).steps.map(({ status }) => status)).toEqual(steps.map(() => "completed"));
  const [counted] = await service.database.query<{ bytes: number }>("select journal_bytes::int as bytes from run where id = $1", [
    uuidOf("run", runId),
  ]);
  expect(counted?.bytes).toBeGreaterThan(20_000_000);
  expect(counted?.bytes).toBeLessThan(21_000_000);
});

test("a retry without steps executes a wait again that timed out and ended the run", async ({ service }) => {
  const { trigger, take, end } = await putWorkflow(service, { attempts: 1 });
  const runId = await trigger();
  const wait = { key: "ask", type: "wait", status: "waiting", signal: runId, timeout: 1_000 };
  await end(await take(), { outcome: "suspended", steps: [wait] });
  await service.advance(2);
  const run = await take();
  const [{ error } = { error: null }] = run.journal;
  await end(run, { outcome: "failed", error: error?.message, error_name: error?.name, retry: false });
  expect((await retry(service, runId)).body.steps).toEqual([]);
});
