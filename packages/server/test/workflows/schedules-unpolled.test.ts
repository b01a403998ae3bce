import { describe, expect } from "vitest";
import { sql } from "#kernel";
import type { FrozenClock } from "../harness/clock.ts";
import { limitedTo } from "../harness/limits.ts";
import { hold } from "../harness/locks.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { testUnpolled as test } from "../harness/schedules.ts";
import type { Service } from "../harness/service.ts";
import { putWorkflow, type TestWorkflow, waitForRuns } from "../harness/workflows.ts";

const HOURLY = { cron: "0 * * * *", timezone: "UTC" };
const HOUR_MS = 3_600_000;

const runsOf = async (service: Service, { id }: TestWorkflow) => (await service.ok("GET", `/v1/runs?workflowId=${id}`)).data;

const ticksOf = async (service: Service, workflow: TestWorkflow): Promise<string[]> =>
  (await runsOf(service, workflow)).map(({ trigger }: { trigger: { scheduledFor: string } }) => trigger.scheduledFor).sort();

const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Lets an hour begin. Returns when it did. */
async function passHour(clock: FrozenClock): Promise<number> {
  const hourMs = (Math.floor(clock.nowMs() / HOUR_MS) + 1) * HOUR_MS;
  await clock.set(hourMs + 20_000);
  return hourMs;
}

describe("what is due of a workflow's schedule on a node that never polls", () => {
  test.for([
    ["another cron expression", { cron: "30 * * * *", timezone: "UTC" }, HOUR_MS / 2],
    ["another time zone", { cron: "0 * * * *", timezone: "Asia/Kolkata" }, HOUR_MS / 2],
    ["none", {}, null],
  ] as const)(
    "starts its run once, with the previous settings, when two registrations give it %s",
    async ([, changed, afterMs], { service, clock, engine }) => {
      const workflow = await putWorkflow(service, { ...HOURLY, attempts: 2 });
      const dueMs = await passHour(clock);
      const put = () => service.ok("PUT", `/v1/workflows/${workflow.id}`, { ...changed, attempts: 7 });
      const lock = hold(engine, sql`select from schedule where name = ${`workflow:${workflow.id}`} for update`);
      await lock.held;
      const puts = Promise.all([put(), put()]);
      await lock.untilWaiting(2);
      await lock.release();
      const nextRunAt = afterMs && timeOf(dueMs + afterMs);
      expect(await puts).toMatchObject([
        { nextRunAt, attempts: 7 },
        { nextRunAt, attempts: 7 },
      ]);
      expect(await ticksOf(service, workflow)).toEqual([timeOf(dueMs)]);
      expect(await workflow.take()).toMatchObject({ attempts: 2, trigger: { scheduledFor: timeOf(dueMs) } });
      await service.moveTo(dueMs + HOUR_MS / 2 + 1_000);
      expect(await ticksOf(service, workflow)).toEqual([timeOf(dueMs), ...(nextRunAt ? [nextRunAt] : [])]);
    },
  );

  test("goes to a worker that waits for runs already", async ({ service, clock, engine }) => {
    const workflow = await putWorkflow(service, HOURLY);
    const { response } = await waitForRuns(engine, service, workflow.id);
    const dueMs = await passHour(clock);
    await service.ok("PUT", `/v1/workflows/${workflow.id}`, {});
    expect((await response).runs).toMatchObject([{ trigger: { scheduledFor: timeOf(dueMs) } }]);
  });

  test("stays due when the registration is refused", async ({ service, clock, database }) => {
    const workflow = await putWorkflow(service, HOURLY);
    const dueMs = await passHour(clock);
    const before = await everythingStored(database);
    const refused = await service.api("PUT", `/v1/workflows/${workflow.id}`, { cron: "61 * * * *", timezone: "UTC" });
    expect(faultsOf(refused, "VALIDATION_ERROR")).toEqual([]);
    expect(await everythingStored(database)).toEqual(before);
    await service.moveTo(dueMs + 30_000);
    expect(await ticksOf(service, workflow)).toEqual([timeOf(dueMs)]);
  });

  test("is skipped and audited if the quota refuses it, and the registration goes on", async ({ service, clock }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const workflow = await putWorkflow(limited, HOURLY);
    const runId = await workflow.trigger();
    await passHour(clock);
    const put = await limited.ok("PUT", `/v1/workflows/${workflow.id}`, { cron: "@yearly", timezone: "UTC" });
    expect(put).toMatchObject({ cron: "@yearly", changed: ["cron"] });
    expect(await runsOf(limited, workflow)).toMatchObject([{ runId }]);
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toMatchObject([
      { resource_type: "workflow", resource_id: workflow.id, output: { reason: "quota", ticks: 1 } },
    ]);
  });

  test("stays as it is when the workflow is registered without a change", async ({ service, clock }) => {
    const workflow = await putWorkflow(service, HOURLY);
    const dueMs = await passHour(clock);
    expect(await service.ok("PUT", `/v1/workflows/${workflow.id}`, HOURLY)).toMatchObject({ nextRunAt: timeOf(dueMs) });
    expect(await runsOf(service, workflow)).toEqual([]);
    await service.moveTo(dueMs + 30_000);
    expect(await ticksOf(service, workflow)).toEqual([timeOf(dueMs)]);
  });
});
