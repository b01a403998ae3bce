import { describe, expect, onTestFinished } from "vitest";
import { sql } from "#kernel";
import { hold } from "../harness/locks.ts";
import { LONG_NODE_LEASE, testWith } from "../harness/nodes.ts";
import { takeOne, untilWaiting, work } from "../harness/workers.ts";
import { putWorkflow } from "../harness/workflows.ts";

const test = testWith(LONG_NODE_LEASE);

/** What a call responds, and how long it took by the clock of this process. */
async function timed<Response>(call: Promise<Response>): Promise<Response & { readonly tookMs: number }> {
  const sentMs = performance.now();
  const response = await call;
  return { ...response, tookMs: performance.now() - sentMs };
}

describe("a call of a worker says how long it had waited", () => {
  test("when its job was claimed", async ({ service, clock }) => {
    const queue = await service.queue();
    const waiting = timed(work(service, { queues: [queue], wait: 30 }));
    await untilWaiting(service, queue);
    clock.pass(20);
    const { id } = await service.enqueue({ queue });
    const { jobs, waited_ms, tookMs } = await waiting;
    expect(jobs).toMatchObject([{ id }]);
    expect(waited_ms).toBeGreaterThanOrEqual(20_000);
    expect(waited_ms).toBeLessThanOrEqual(20_000 + tookMs);
  });

  test("when a run was started eagerly for it", async ({ service, clock }) => {
    const workflow = await putWorkflow(service);
    const waiting = timed(work(service, { workflows: [workflow.id], wait: 30, limit: 1 }));
    const waits = async () => (await service.ok("GET", "/v1/workers")).data.length === 1;
    await expect.poll(waits).toBe(true);
    await work(service, { worker: "w2", workflows: [workflow.id] });
    clock.pass(20);
    const runId = await workflow.trigger();
    const { runs, waited_ms, tookMs } = await waiting;
    expect(runs).toMatchObject([{ runId }]);
    expect(waited_ms).toBeGreaterThanOrEqual(20_000);
    expect(waited_ms).toBeLessThanOrEqual(20_000 + tookMs);
  });

  test("not what happens after the claim", async ({ service, engine, clock }) => {
    const queue = await service.queue();
    await service.ok("POST", "/v1/secrets", { name: "KEY", value: "sk_live_4eC39HqLyjWDarjtT1zdp7dc" });
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.KEY }}" });
    const lock = hold(engine, sql`lock table secret in access exclusive mode`);
    onTestFinished(() => lock.release());
    await lock.held;
    const waiting = timed(work(service, { queues: [queue] }));
    await service.untilState({ queue, id }, "active");
    clock.pass(20);
    await lock.release();
    const { jobs, waited_ms, tookMs } = await waiting;
    expect(jobs).toMatchObject([{ id }]);
    expect(waited_ms).toBeLessThanOrEqual(tookMs);
  });

  test("but not when an earlier call had claimed it", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const asked = { queues: [queue], request: "r1" };
    const first = await work(service, asked);
    const repeated = await work(service, asked);
    expect([first.jobs.length, repeated.jobs]).toEqual([1, first.jobs]);
    expect([first.waited_ms, repeated.waited_ms]).toEqual([expect.any(Number), null]);
  });

  test("also when it only settles", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const { id, lease_token } = await takeOne(service, queue);
    const settled = await work(service, { settle: [{ id, lease_token, outcome: "completed" }] });
    expect(settled).toMatchObject({ settled: [{ ok: true }], waited_ms: 0 });
  });
});
