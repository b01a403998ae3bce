import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { test, uuidOfJob } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { until } from "../harness/service.ts";
import { proofOf, takeOne, work } from "../harness/workers.ts";
import { putWorkflow } from "../harness/workflows.ts";

const SECRETS = sql`lock table secret in access exclusive mode`;

describe("what is cancelled after it was claimed for a worker, before the response is made (I4)", () => {
  test("a job whose secrets are being read is not given out", async ({ service, engine }) => {
    await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "s3cr3t-value" });
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: "${{ secrets.TOKEN }}" });
    const other = await service.enqueue({ queue, payload: 2 });
    const lock = hold(engine, SECRETS);
    await lock.held;
    const taking = work(service, { queues: [queue], limit: 2 });
    await lock.untilWaiting(1);
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await lock.release();
    expect(await taking).toMatchObject({ jobs: [{ id: other.id }], cancelled: [id] });
  });

  test("a run whose execution has begun is not given out", async ({ service, engine }) => {
    await service.ok("POST", "/v1/secrets", { name: "INPUT_TOKEN", value: "s3cr3t-value" });
    const flow = await putWorkflow(service);
    const runId = await flow.trigger({ input: "${{ secrets.INPUT_TOKEN }}" });
    const lock = hold(engine, SECRETS);
    await lock.held;
    const taking = flow.work({ workflows: [flow.id] });
    await lock.untilWaiting(1);
    await service.ok("POST", `/v1/runs/${runId}/cancel`);
    await lock.release();
    expect(await taking).toMatchObject({ runs: [], cancelled: [runId] });
  });

  test("a job is not given out while an outcome of the call is being stored", async ({ service, engine }) => {
    const queue = await service.queue();
    await service.enqueue({ queue });
    const done = await takeOne(service, queue);
    const { id } = await service.enqueue({ queue });
    const lock = hold(engine, sql`select from job where id = ${uuidOfJob(done)} for update`);
    await lock.held;
    const taking = work(service, { queues: [queue], settle: [{ ...proofOf(done), outcome: "completed" }] });
    await lock.untilWaiting(1);
    await until(async () => (await service.job({ queue, id })).state === "active", "the next job to be claimed");
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);
    await lock.release();
    expect(await taking).toMatchObject({ settled: [{ ok: true }], jobs: [], cancelled: [id] });
  });
});
