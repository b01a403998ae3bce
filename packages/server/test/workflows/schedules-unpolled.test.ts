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

const runsOf = async (service: Service, { id }: TestWorkflow) => (await service.ok("GET", `/v1/runs?workflowId=${id}`)).data;

const ticksOf = async (service: Service, workflow: TestWorkflow): Promise<string[]> =>
  (await runsOf(service, workflow)).map(({ trigger }: { trigger: { scheduledFor: string } }) => trigger.scheduledFor).sort();

/** Lets the hour begin that follows noon. */
const passHour = (clock: FrozenClock, at: (time: string) => string[]): Promise<void> => clock.set(Date.parse(at("13:00:20")[0] ?? ""));

describe("what is due of a workflow's schedule on a node that never polls", () => {
  // First, because runs that other tests leave with workers are taken back when time passes.
  test("stays due when the registration is refused", async ({ service, clock, database, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    await passHour(clock, at);
    const before = await everythingStored(database);
    const refused = await service.api("PUT", `/v1/workflows/${workflow.id}`, { cron: "61 * * * *", timezone: "UTC" });
    expect(faultsOf(refused, "VALIDATION_ERROR")).toEqual([]);
    expect(await everythingStored(database)).toEqual(before);
    await service.moveTo(Date.parse(at("13:00:30")[0] ?? ""));
    expect(await ticksOf(service, workflow)).toEqual(at("13:00"));
  });

  test.for([
    ["another cron expression", { cron: "30 * * * *", timezone: "UTC" }, "13:30"],
    ["another time zone", { cron: "0 * * * *", timezone: "Asia/Kolkata" }, "13:30"],
    ["none", {}, null],
  ] as const)(
    "starts its run once, with the previous settings, when two registrations give it %s",
    async ([, changed, next], { service, clock, engine, at }) => {
      const workflow = await putWorkflow(service, { ...HOURLY, attempts: 2 });
      await passHour(clock, at);
      const put = () => service.ok("PUT", `/v1/workflows/${workflow.id}`, { ...changed, attempts: 7 });
      const lock = hold(engine, sql`select from schedule where name = ${`workflow:${workflow.id}`} for update`);
      await lock.held;
      const puts = Promise.all([put(), put()]);
      await lock.untilWaiting(2);
      await lock.release();
      const nextRunAt = next && at(next)[0];
      expect(await puts).toMatchObject([
        { nextRunAt, attempts: 7 },
        { nextRunAt, attempts: 7 },
      ]);
      expect(await ticksOf(service, workflow)).toEqual(at("13:00"));
      expect(await workflow.take()).toMatchObject({ attempts: 2, trigger: { scheduledFor: at("13:00")[0] } });
      await service.moveTo(Date.parse(at("13:30:01")[0] ?? ""));
      expect(await ticksOf(service, workflow)).toEqual([...at("13:00"), ...(next ? at(next) : [])]);
    },
  );

  test("goes to a worker that waits for runs already", async ({ service, clock, engine, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    const { response } = await waitForRuns(engine, service, workflow.id);
    await passHour(clock, at);
    await service.ok("PUT", `/v1/workflows/${workflow.id}`, {});
    expect((await response).runs).toMatchObject([{ trigger: { scheduledFor: at("13:00")[0] } }]);
  });

  test("is skipped and audited if the quota refuses it, and the registration goes on", async ({ service, clock, at }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const workflow = await putWorkflow(limited, HOURLY);
    const runId = await workflow.trigger();
    await passHour(clock, at);
    const put = await limited.ok("PUT", `/v1/workflows/${workflow.id}`, { cron: "@yearly", timezone: "UTC" });
    expect(put).toMatchObject({ cron: "@yearly", changed: ["cron"] });
    expect(await runsOf(limited, workflow)).toMatchObject([{ runId }]);
    expect((await limited.ok("GET", "/v1/audit-events?event_type=schedule.skipped")).data).toMatchObject([
      { resource_type: "workflow", resource_id: workflow.id, output: { reason: "quota", ticks: 1 } },
    ]);
  });

  test("stays as it is when the workflow is registered without a change", async ({ service, clock, at }) => {
    const workflow = await putWorkflow(service, HOURLY);
    await passHour(clock, at);
    expect(await service.ok("PUT", `/v1/workflows/${workflow.id}`, HOURLY)).toMatchObject({ nextRunAt: at("13:00")[0] });
    expect(await runsOf(service, workflow)).toEqual([]);
    await service.moveTo(Date.parse(at("13:00:30")[0] ?? ""));
    expect(await ticksOf(service, workflow)).toEqual(at("13:00"));
  });
});
