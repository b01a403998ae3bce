import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { test } from "../harness/schedules.ts";
import type { Service } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow } from "../harness/workflows.ts";

const HOURLY = { cron: "0 * * * *", timezone: "UTC" };

/** The triggers of a workflow's runs, oldest first. */
const triggersOf = async (service: Service, { id }: TestWorkflow): Promise<unknown[]> =>
  (await service.ok("GET", `/v1/runs?workflowId=${id}`)).data.map(({ trigger }: { trigger: unknown }) => trigger).reverse();

const tick = (scheduledFor: string | undefined) => ({ type: "schedule", scheduledFor });

describe("a workflow with cron and timezone", () => {
  test("starts one run at each tick, in its time zone", async ({ service, at }) => {
    const workflow = await putWorkflow(service, { cron: "30 14 * * *", timezone: "Europe/Berlin" });
    const [first = "", next = ""] = at("13:30", "13:31");
    const summer =
      Number(new Intl.DateTimeFormat("en", { timeZone: "Europe/Berlin", hour: "numeric", hour12: false }).format(new Date(first))) === 15;
    const due = summer ? Date.parse(first) - 3_600_000 : Date.parse(first);
    expect((await service.ok("GET", `/v1/workflows/${workflow.id}`)).nextRunAt).toBe(new Date(due).toISOString());
    await service.moveTo(Date.parse(next));
    expect(await triggersOf(service, workflow)).toEqual([tick(new Date(due).toISOString())]);
    expect(await workflow.take()).toMatchObject({ input: null, trigger: tick(new Date(due).toISOString()) });
  });

  test("starts the last run that was missed in a downtime", async ({ service, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    await service.moveTo(Date.parse(at("16:30")[0] ?? ""));
    expect(await triggersOf(service, workflow)).toEqual([tick(at("16:00")[0])]);
  });

  test("is registered again without losing a tick or starting it twice", async ({ service, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    const put = () => service.ok("PUT", `/v1/workflows/${workflow.id}`, HOURLY);
    await put();
    await service.clock.set(Date.parse(at("13:00")[0] ?? ""));
    await Promise.all([put(), put()]);
    await service.moveTo(Date.parse(at("13:00:01")[0] ?? ""));
    await put();
    expect(await triggersOf(service, workflow)).toEqual([tick(at("13:00")[0])]);
  });

  test("starts by a new cron expression from its registration on, and by none without one", async ({ service, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    await service.ok("PUT", `/v1/workflows/${workflow.id}`, { cron: "30 * * * *", timezone: "UTC" });
    await service.moveTo(Date.parse(at("12:31")[0] ?? ""));
    expect(await service.ok("PUT", `/v1/workflows/${workflow.id}`, {})).toMatchObject({ cron: null, timezone: null, nextRunAt: null });
    await service.moveTo(Date.parse(at("15:00")[0] ?? ""));
    expect(await triggersOf(service, workflow)).toEqual([tick(at("12:30")[0])]);
  });

  test("starts nothing after it was deleted, and as a new one of its name from then on", async ({ service, at }) => {
    const { id } = await putWorkflow(service, HOURLY);
    await service.api("DELETE", `/v1/workflows/${id}`);
    await service.moveTo(Date.parse(at("13:30")[0] ?? ""));
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(0);
    await service.ok("PUT", `/v1/workflows/${id}`, HOURLY);
    await service.moveTo(Date.parse(at("14:30")[0] ?? ""));
    expect((await service.ok("GET", `/v1/runs?workflowId=${id}`)).data).toHaveLength(1);
  });

  test("skips ticks that the quota refuses, and the audit log says so", async ({ service, at }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const workflow = await putWorkflow(limited, HOURLY);
    await service.moveTo(Date.parse(at("13:01")[0] ?? ""));
    await service.moveTo(Date.parse(at("14:01")[0] ?? ""));
    expect(await triggersOf(limited, workflow)).toEqual([tick(at("13:00")[0])]);
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toMatchObject([
      { resource_type: "workflow", resource_id: workflow.id, output: { reason: "quota", ticks: 1 } },
    ]);
  });

  test("has a schedule that callers neither see nor count among their own", async ({ service }) => {
    await putWorkflow(service, HOURLY);
    expect((await service.ok("GET", "/v1/schedules")).data).toEqual([]);
    expect((await service.ok("GET", "/v1/status")).schedules).toBe(0);
  });

  test("wakes a worker that waits for its runs", async ({ service, at }) => {
    const { id, work } = await putWorkflow(service, HOURLY);
    const waiting = work({ worker: "w2", workflows: [id], wait: 20 });
    await service.moveTo(Date.parse(at("13:00")[0] ?? ""));
    expect((await waiting).runs).toHaveLength(1);
  });

  for (const [settings, path] of [
    [{ cron: "0 9 * * *" }, "timezone"],
    [{ timezone: "UTC" }, "cron"],
    [{ cron: "61 * * * *", timezone: "UTC" }, "cron"],
    [{ cron: "0 9 * * *", timezone: "Europe/Atlantis" }, "timezone"],
  ] as const) {
    test(`is refused with ${JSON.stringify(settings)}`, async ({ service }) => {
      const { status, body } = await service.api("PUT", "/v1/workflows/w", settings);
      expect([status, body.error.details.issues[0].path]).toEqual([400, path]);
      expect((await service.api("GET", "/v1/workflows/w")).status).toBe(404);
    });
  }
});
