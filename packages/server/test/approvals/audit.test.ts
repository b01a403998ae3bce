import { describe, expect } from "vitest";
import { decisionsAcrossWorkspaces } from "../../src/approvals/decide-overdue.ts";
import { approvalQueue, approve, reject } from "../harness/approvals.ts";
import { auditLog, verified } from "../harness/audit.ts";
import { audited, withoutAudit } from "../harness/audit-events.ts";
import { laneOf, test } from "../harness/engine.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { until } from "../harness/service.ts";

describe("the audit log", () => {
  test("the audit log has who decided, by which key, and what they said", async ({ service }) => {
    const queue = await approvalQueue(service);
    const [one, two, three] = [await service.enqueue({ queue }), await service.enqueue({ queue }), await service.enqueue({ queue })];
    await approve(service, one, { by: "ada@example.com", comment: "Checked." });
    await reject(service, two, { by: "ada@example.com", reason: "Paid already." });
    await approve(service, three);
    const actor = expect.stringMatching(/^key_/);
    expect(await audited(service, service.workspaceId, "job")).toEqual([
      {
        type: "job.approved",
        actor,
        resource: one.id,
        input: { by: "ada@example.com", comment: "Checked." },
        output: { decision: "approved", queue },
      },
      {
        type: "job.rejected",
        actor,
        resource: two.id,
        input: { by: "ada@example.com", comment: "Paid already." },
        output: { decision: "rejected", queue },
      },
      { type: "job.approved", actor, resource: three.id, input: { by: null, comment: null }, output: { decision: "approved", queue } },
    ]);
  });

  test("the audit log has what the timeout decided, as the system's doing", async ({ service, engine }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const jobs = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    await service.advance(60);
    expect(await audited(service, service.workspaceId, "job")).toEqual(
      jobs.map(({ id }) => ({
        type: "job.rejected",
        actor: "system",
        resource: id,
        input: null,
        output: { decision: "rejected", queue },
      })),
    );
    const { workspaceId } = await laneOf(service, queue);
    expect(await verified(engine, workspaceId)).toMatchObject({ broken: null });
  });

  test("the audit log can be asked for decisions by their types", async ({ service }) => {
    const queue = await approvalQueue(service);
    const [one, two] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    await approve(service, one);
    await reject(service, two);
    await service.ok("POST", `/v1/queues/${queue}/jobs/${two.id}/retry`);
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=job.approved,job.rejected,approval.overruled");
    expect(data.map((event: { event_type: string; resource_id: string }) => [event.event_type, event.resource_id])).toEqual([
      ["approval.overruled", two.id],
      ["job.rejected", two.id],
      ["job.approved", one.id],
    ]);
  });

  test("the audit log is written with the decision or not at all", async ({ service, engine, clock }) => {
    const queue = await approvalQueue(service, { approval: { timeout: 60 } });
    const jobs = [await service.enqueue({ queue }), await service.enqueue({ queue }), await service.enqueue({ queue })];
    await reject(service, jobs[2]);
    const happened: string[] = [];
    const deciding = {
      db: engine,
      audit: auditLog,
      clock,
      lockWaits: lockWaits(),
      emit: (event: string) => void happened.push(event),
      waker: { wake: () => {}, wakeAt: () => {} },
    };
    await withoutAudit(service, async () => {
      expect((await approve(service, jobs[0])).status).toBe(500);
      expect((await reject(service, jobs[1])).status).toBe(500);
      expect((await service.api("POST", `/v1/queues/${queue}/jobs/${jobs[2].id}/retry`)).status).toBe(500);
      await clock.advance(60);
      // The node itself may be doing this at the moment.
      await until(async () => {
        await decisionsAcrossWorkspaces(deciding).round();
        return happened.includes("approval_decisions_not_written");
      }, "the timeout to be tried");
      for (const job of jobs.slice(0, 2)) expect(await service.job(job)).toMatchObject({ state: "pending_approval", approval: null });
      expect(await service.job(jobs[2])).toMatchObject({ state: "rejected" });
    });
    await service.advance(0);
    for (const job of jobs) expect(await service.job(job)).toMatchObject({ state: "rejected" });
  });
});
