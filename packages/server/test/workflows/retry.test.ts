import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { type Service, test } from "../harness/service.ts";
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
