import { describe, expect } from "vitest";
import { test } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const SLEEP = { outcome: "suspended", steps: [{ key: "s", type: "sleep", status: "waiting", sleepFor: 60_000 }] };

describe("a run is cancelled while it is", () => {
  test("pending: no execution begins", async ({ service }) => {
    const { id, trigger, work } = await putWorkflow(service);
    const runId = await trigger();
    expect(await service.ok("POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: "cancelled", endedAt: expect.any(String) });
    expect((await work({ workflows: [id] })).runs).toEqual([]);
  });

  test("sleeping: it does not wake", async ({ service }) => {
    const { id, trigger, take, end, work } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), SLEEP);
    expect(await service.ok("POST", `/v1/runs/${runId}/cancel`)).toMatchObject({ status: "cancelled" });
    await service.advance(61);
    expect((await work({ workflows: [id] })).runs).toEqual([]);
  });

  test("running: its worker is told at once, and can report nothing more", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    const run = await take();
    const leases = [{ id: runId, lease_token: run.lease_token }];
    const told = service.ok("POST", "/v1/work/extend", { worker: "w1", leases, wait: 30 });
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    expect((await told).cancelled).toEqual([runId]);
    expect(await end(run, { outcome: "completed" })).toMatchObject({ ok: false, code: "LEASE_LOST" });
    const steps = [{ key: "a", type: "run", status: "completed" }];
    expect((await service.api("POST", `/v1/runs/${runId}/steps`, { lease_token: run.lease_token, steps })).status).toBe(409);
    expect(await get(runId)).toMatchObject({ status: "cancelled", steps: [] });
  });

  test("ended: it is refused, and the run stays as it is", async ({ service }) => {
    const { trigger, take, end, get } = await putWorkflow(service);
    const runId = await trigger();
    await end(await take(), { outcome: "completed", result: 1 });
    const { status, body } = await service.api("POST", `/v1/runs/${runId}/cancel`);
    expect([status, body.error.code, body.error.details.state]).toEqual([409, "INVALID_STATE", "completed"]);
    expect(await get(runId)).toMatchObject({ status: "completed", result: 1 });
  });
});

test("of a cancel and an end at the same time one wins, and the run has ended once", async ({ service }) => {
  const { trigger, take, end, get } = await putWorkflow(service);
  for (let round = 0; round < 10; round += 1) {
    const runId = await trigger();
    const run = await take();
    const [cancel, settled] = await Promise.all([service.api("POST", `/v1/runs/${runId}/cancel`), end(run, { outcome: "completed" })]);
    expect([cancel.status === 200, settled.ok]).toContain(true);
    expect(cancel.status === 200).toBe(!settled.ok);
    expect(await get(runId)).toMatchObject({ status: cancel.status === 200 ? "cancelled" : "completed" });
  }
});

test("a run that is deleted with its workflow is lost to its worker at once, though its rows are still there", async ({ service }) => {
  const { id, trigger, take } = await putWorkflow(service);
  const listener = await putWorkflow(service, { events: ["deleted.sent"] });
  const runId = await trigger();
  const { lease_token } = await take();
  await service.ok("DELETE", `/v1/workflows/${id}`);
  const extended = await service.ok("POST", "/v1/work/extend", { worker: "w1", leases: [{ id: runId, lease_token }] });
  expect(extended).toMatchObject({ leases: [{ id: runId, ok: false }], cancelled: [runId] });
  const calls: [string, object][] = [
    ["events", { key: "e", name: "deleted.sent" }],
    ["signals", { key: "s", signal: "deleted" }],
    ["invocations", { key: "i", workflow: listener.id, timeout: 1_000 }],
    ["steps", { steps: [{ key: "w", type: "wait", status: "waiting", signal: "deleted", timeout: 1_000 }] }],
  ];
  for (const [path, body] of calls) {
    const response = await service.api("POST", `/v1/runs/${runId}/${path}`, { lease_token, ...body });
    expect([path, response.status, response.body.error?.code]).toEqual([path, 409, "LEASE_LOST"]);
  }
  expect((await service.ok("GET", `/v1/runs?workflowId=${listener.id}`)).data).toEqual([]);
});
