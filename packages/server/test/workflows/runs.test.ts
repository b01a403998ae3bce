import { describe, expect } from "vitest";
import { type Service, test } from "../harness/service.ts";

/** A workflow, and how a worker executes its runs. */
async function workflow(service: Service, settings: object = {}) {
  const id = `wf-${Math.random().toString(36).slice(2, 10)}`;
  await service.ok("PUT", `/v1/workflows/${id}`, settings);
  const trigger = async (body: object = {}): Promise<string> => (await service.ok("POST", `/v1/workflows/${id}/trigger`, body)).runIds[0];
  const work = (settle: object[] = [], more: object = {}) =>
    service.ok("POST", "/v1/work", { worker: "w1", queues: [], workflows: settle.length > 0 ? [] : [id], limit: 10, settle, ...more });
  const take = async (more: object = {}) => (await work([], { wait: 10, ...more })).runs[0];
  const end = async (run: { runId: string; lease_token: string }, outcome: object) =>
    (await work([{ id: run.runId, lease_token: run.lease_token, ...outcome }])).settled[0];
  const get = (runId: string) => service.ok("GET", `/v1/runs/${runId}`);
  return { id, trigger, work, take, end, get };
}

describe("a run", () => {
  test("is executed by a worker that asks for its workflow, and completed", async ({ service }) => {
    const { id, trigger, take, end, get } = await workflow(service);
    const runId = await trigger({ input: { userId: "u1" } });
    expect(await get(runId)).toMatchObject({ status: "pending", startedAt: null, input: { userId: "u1" } });
    const run = await take({ version: "v1" });
    expect(run).toMatchObject({ runId, workflowId: id, version: "v1", attempt: 1, attempts: 3, input: { userId: "u1" }, journal: [] });
    expect(await get(runId)).toMatchObject({ status: "running", version: "v1" });
    expect(await end(run, { outcome: "completed", result: [1] })).toMatchObject({ ok: true });
    expect(await get(runId)).toMatchObject({ status: "completed", result: [1], error: null, endedAt: expect.any(String) });
  });

  test("goes on from its journal after a sleep", async ({ service }) => {
    const { trigger, take, end, get } = await workflow(service);
    const runId = await trigger();
    const first = await take();
    const step = { key: "load", type: "run", status: "completed", output: { n: 1 } };
    expect(await service.ok("POST", `/v1/runs/${runId}/steps`, { lease_token: first.lease_token, steps: [step] })).toEqual({ steps: 1 });
    await end(first, { outcome: "suspended", steps: [{ key: "a day", type: "sleep", status: "waiting", sleepFor: 86_400_000 }] });
    expect(await get(runId)).toMatchObject({ status: "sleeping", steps: [{ key: "load" }, { key: "a day", status: "waiting" }] });
    await service.advance(86_401);
    const second = await take();
    expect(second.journal).toMatchObject([
      { key: "load", output: { n: 1 } },
      { key: "a day", status: "completed", output: null },
    ]);
    expect(second.attempt).toBe(1);
    await end(second, { outcome: "completed" });
    expect(await get(runId)).toMatchObject({ status: "completed", result: null });
  });
});
