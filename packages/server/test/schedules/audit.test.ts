import { describe, expect } from "vitest";
import { audited, withoutAudit } from "../harness/audit-events.ts";
import { everythingStored } from "../harness/problem.ts";
import { schedule, test } from "../harness/schedules.ts";

describe("the audit log", () => {
  test("the audit log has who made, changed, paused, resumed, triggered and deleted a schedule, and nothing of its payload", async ({
    service,
    at,
  }) => {
    const made = await schedule(service, { payload: { key: "unguessable" }, tag: "t" });
    const path = `/v1/schedules/${made.name}`;
    await service.ok("PATCH", path, { cron: "*/5 * * * *", tag: "t", payload: ["unguessable-too"] });
    await service.ok("PATCH", path, { attempts: 3, overlap: "skip" });
    await service.ok("PATCH", `${path}/pause`);
    await service.ok("PATCH", `${path}/pause`);
    const job = await service.ok("POST", `${path}/trigger`);
    await service.ok("PATCH", `${path}/resume`);
    await service.ok("PATCH", `${path}/resume`);
    await service.ok("DELETE", path);
    const same = { actor: expect.stringMatching(/^key_/), resource: made.name };
    const { name, queue, cron, timezone } = made;
    expect(await audited(service, service.workspaceId, "schedule")).toEqual([
      { ...same, type: "schedule.created", input: { name, queue, cron, timezone, tag: "t" }, output: { next_run_at: at("12:01")[0] } },
      {
        ...same,
        type: "schedule.updated",
        input: { cron: "*/5 * * * *", tag: "t" },
        output: { changed: ["cron", "next_run_at", "payload"] },
      },
      { ...same, type: "schedule.updated", input: { attempts: 3, overlap: "skip" }, output: { changed: ["attempts", "overlap"] } },
      { ...same, type: "schedule.paused", input: null, output: null },
      { ...same, type: "schedule.triggered", input: null, output: { job_id: job.id } },
      { ...same, type: "schedule.resumed", input: null, output: null },
      { ...same, type: "schedule.deleted", input: null, output: null },
    ]);
    expect(JSON.stringify(await service.database.query("select * from audit_event"))).not.toContain("unguessable");
  });

  test("the audit log has nothing of what was refused", async ({ service, at: _ }) => {
    const made = await schedule(service);
    await service.api("POST", "/v1/schedules", { ...made, name: made.name });
    await service.api("POST", "/v1/schedules", { name: made.name, queue: made.queue, cron: made.cron, timezone: made.timezone });
    await service.api("PATCH", `/v1/schedules/${made.name}`, { cron: "nope" });
    await service.api("DELETE", "/v1/schedules/absent");
    expect((await audited(service, service.workspaceId, "schedule")).map(({ type }) => type)).toEqual(["schedule.created"]);
  });

  test("the audit log is written with the fact or not at all", async ({ service, at: _, database }) => {
    const made = await schedule(service);
    const paused = await schedule(service);
    await service.ok("PATCH", `/v1/schedules/${paused.name}/pause`);
    const before = await everythingStored(database);
    const path = `/v1/schedules/${made.name}`;
    await withoutAudit(service, async () => {
      for (const [method, to, body] of [
        ["POST", "/v1/schedules", { queue: made.queue, cron: "@daily", timezone: "UTC" }],
        ["PATCH", path, { tag: "t" }],
        ["PATCH", `${path}/pause`, undefined],
        ["PATCH", `/v1/schedules/${paused.name}/resume`, undefined],
        ["POST", `${path}/trigger`, undefined],
        ["DELETE", path, undefined],
        ["DELETE", `/v1/queues/${made.queue}`, undefined],
      ] as const)
        expect([method, to, (await service.api(method, to, body)).status]).toEqual([method, to, 500]);
    });
    expect(await everythingStored(database)).toEqual(before);
  });
});
