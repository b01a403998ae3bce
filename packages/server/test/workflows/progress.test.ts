import { describe, expect } from "vitest";
import { test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const step = { key: "a", type: "run", status: "completed", output: 1 };

describe("the progress of a run", () => {
  test("is null at first, and then what its code said last", async ({ service }) => {
    const { trigger, take, get } = await putWorkflow(service);
    const runId = await trigger();
    expect(await get(runId)).toMatchObject({ progress: null });
    const { lease_token } = await take();
    for (const progress of [{ sent: 1 }, { sent: 2 }, "done"]) {
      expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, progress })).toEqual({ steps: 0 });
      expect(await get(runId)).toMatchObject({ progress, steps: [] });
    }
  });

  test("comes with steps, and with the end of an execution", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const { lease_token } = run;
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step], progress: 1 })).toEqual({ steps: 1 });
    expect(await get(runId)).toMatchObject({ progress: 1, steps: [{ key: "a" }] });
    expect(await end(run, { outcome: "completed", progress: 2 })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", progress: 2 });
  });

  test.for([
    { outcome: "failed", error: "bad" },
    { outcome: "suspended", steps: [{ key: "nap", type: "sleep", status: "waiting", sleepFor: 60_000 }] },
    { outcome: "released" },
  ])("comes with the outcome $outcome", async (outcome, { service }) => {
    const { trigger, take, end, get } = await putWorkflow(service, { attempts: 1 });
    const runId = await trigger();
    expect(await end(await take(), { ...outcome, progress: { at: "end" } })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ progress: { at: "end" } });
  });

  test("has no secrets of the run's input", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "s3cr3t-value-of-the-token" });
    const runId = await trigger({ input: "${{ secrets.TOKEN }}" });
    const run = await take();
    const progress = { with: run.input };
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, progress });
    expect(await get(runId)).toMatchObject({ progress: { with: "[secret:TOKEN]" } });
    await end(run, { outcome: "completed", progress: [progress] });
    expect(await get(runId)).toMatchObject({ status: "completed", progress: [{ with: "[secret:TOKEN]" }] });
  });

  test("is not part of the journal: an execution does not get it, and it stays when the run is retried", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service, { attempts: 1 });
    const runId = await trigger();
    await end(await take(), { outcome: "failed", error: "bad", progress: 1 });
    await service.ok("POST", `/v1/runs/${runId}/retry`);
    expect(await take()).toMatchObject({ journal: [] });
    expect(await get(runId)).toMatchObject({ progress: 1 });
  });

  test("of more than 4 KiB is refused, and its steps with it", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const { lease_token } = run;
    const large = "x".repeat(4 * 1024 - 1);
    const { status, body } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, steps: [step], progress: large });
    expect([status, body.error]).toMatchObject([413, { details: { limit_bytes: 4096, path: "progress" } }]);
    expect(await end(run, { outcome: "completed", progress: large })).toMatchObject({ ok: false, code: "PAYLOAD_TOO_LARGE" });
    expect(await get(runId)).toMatchObject({ status: "running", progress: null, steps: [] });
    await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token, progress: large.slice(1) });
    expect((await get(runId)).progress).toHaveLength(4 * 1024 - 2);
  });

  test("that no JSON number can hold is refused by name, and so is a report of nothing", async ({ service }) => {
    const { trigger, take } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token } = await take();
    for (const [rest, path] of [
      [',"progress":{"n":1e400}', "progress"],
      ["", "steps"],
    ]) {
      const { status, body } = await service.api("POST", `/v1/runs/${runId}/steps`, `{"lease_token":"${lease_token}"${rest}}`);
      expect([status, body.error.details.issues[0].path]).toEqual([400, path]);
    }
  });

  test("is not taken from a worker that has lost the run, nor for a job", async ({ service }) => {
    const { trigger, take, end, get, work } = await putWorkflow(service);
    const runId = await trigger();
    const { lease_token, ...run } = await take();
    await end({ lease_token, ...run }, { outcome: "released" });
    const { status } = await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token, progress: 1 });
    expect(status).toBe(409);
    expect(await get(runId)).toMatchObject({ progress: null });
    const queue = await service.queue();
    await service.enqueue({ queue });
    const [job] = (await work({ queues: [queue], wait: 10 })).jobs;
    const settle = [{ id: job?.id, lease_token: job?.lease_token, outcome: "completed", progress: 1 }];
    expect((await work({ settle })).settled).toMatchObject([{ ok: false, message: "progress is only for runs." }]);
  });
});
