import { describe, expect } from "vitest";
import { approvalQueue, approve, reject } from "../harness/approvals.ts";
import { audited } from "../harness/audit-events.ts";
import { type Service, test } from "../harness/service.ts";

interface Named {
  readonly id: string;
  readonly queue: string;
}

const retry = (service: Service, { queue, id }: Named) => service.api("POST", `/v1/queues/${queue}/jobs/${id}/retry`);
const cancel = (service: Service, { queue, id }: Named) => service.ok("DELETE", `/v1/queues/${queue}/jobs/${id}`);

describe("a retry by hand", () => {
  test("a retry by hand of a rejected job lets it start, and is audited as what it is", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue });
    const { approval } = (await reject(service, job, { by: "ops", reason: "No." })).body;
    const reply = await retry(service, job);
    expect([reply.status, reply.body]).toMatchObject([200, { state: "waiting", finished_at: null, approval }]);
    await service.untilState(job, "completed");
    expect(await service.job(job)).toMatchObject({ approval });
    expect((await audited(service, service.workspaceId, "job")).at(-1)).toEqual({
      type: "approval.overruled",
      actor: expect.stringMatching(/^key_/),
      resource: job.id,
      input: { queue: job.queue },
      output: { overruled: approval },
    });
    expect((await service.ok("GET", `/v1/queues/${job.queue}`)).metrics).toMatchObject({ rejected: 0, completed: 1 });
  });

  test("a retry by hand of a job that was cancelled undecided has it wait to be decided again", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue });
    await cancel(service, job);
    const reply = await retry(service, job);
    expect([reply.status, reply.body]).toMatchObject([200, { state: "pending_approval", finished_at: null, approval: null }]);
    expect((await service.ok("GET", "/v1/approvals")).data).toEqual([{ ...reply.body, decide_at: null, on_timeout: null }]);
    expect((await service.ok("GET", `/v1/queues/${job.queue}`)).metrics).toMatchObject({ cancelled: 0, pending_approval: 1 });
    await service.advance(1);
    expect(handler.received).toEqual([]);
    await approve(service, job);
    await service.untilState(job, "completed");
  });

  test("a retry by hand of a job that was cancelled undecided gives it the queue's time anew", async ({ service }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const job = await service.enqueue({ queue });
    await service.advance(50);
    await cancel(service, job);
    await service.advance(50);
    await retry(service, job);
    await service.advance(59);
    expect(await service.job(job)).toMatchObject({ state: "pending_approval" });
    await service.advance(1);
    expect(await service.job(job)).toMatchObject({ state: "rejected" });
  });

  test("a retry by hand of a job that was cancelled after its approval lets it start", async ({ service }) => {
    const queue = await approvalQueue(service);
    const job = await service.enqueue({ queue, delay: 60, concurrencyKey: "k" });
    const { approval } = (await approve(service, job)).body;
    await cancel(service, job);
    expect((await retry(service, job)).body).toMatchObject({ state: "waiting", approval });
  });

  test("a retry by hand of a job that was overruled and cancelled lets it start", async ({ service }) => {
    const job = await service.enqueue({ queue: await approvalQueue(service) });
    await reject(service, job);
    await retry(service, job);
    await cancel(service, job);
    expect((await retry(service, job)).body).toMatchObject({ state: "waiting" });
  });

  test("a retry by hand of a cancelled job approves nothing, however often it is tried at once", async ({ service }) => {
    const handler = await service.handler({ type: "approval" });
    const job = await service.enqueue({ queue: handler.queue });
    for (let round = 0; round < 20; round += 1) {
      await cancel(service, job);
      const replies = await Promise.all([retry(service, job), retry(service, job), retry(service, job)]);
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
      expect(await service.job(job)).toMatchObject({ state: "pending_approval" });
    }
    expect(handler.received).toEqual([]);
  });
});
