import { describe, expect } from "vitest";
import { NEVER_POLL, testWith } from "../harness/nodes.ts";
import { everythingStored, faultsOf } from "../harness/problem.ts";
import { schedule, scheduleOf } from "../harness/schedules.ts";
import { until } from "../harness/service.ts";

const test = testWith(NEVER_POLL);

describe("a node that looks for nothing by itself", () => {
  test("a triggered job is delivered on a node that looks for nothing by itself", async ({ service }) => {
    const handler = await service.handler();
    const made = await schedule(service, { queue: handler.queue });
    await service.ok("POST", `/v1/schedules/${made.name}/trigger`);
    await until(() => handler.received.length === 1, "the callback");
  });

  test.for([
    ["pause", {}],
    ["", { cron: "@yearly" }],
    ["", { payload: "other" }],
  ] as const)("what was due is delivered when its schedule is changed: %s %j", async ([verb, body], { service, clock }) => {
    const handler = await service.handler();
    const made = await schedule(service, { queue: handler.queue });
    await clock.advance(60);
    await service.ok("PATCH", `/v1/schedules/${made.name}/${verb}`.replace(/\/$/, ""), body);
    await until(() => handler.received.length === 1, "the callback");
    expect(handler.received.map((one) => one.body)).toMatchObject([{ payload: null, scheduled_for: made.next_run_at }]);
  });

  test("what was due stays so when the change is refused", async ({ service, clock, database }) => {
    const made = await schedule(service);
    await clock.advance(60);
    const before = await everythingStored(database);
    expect(faultsOf(await service.api("PATCH", `/v1/schedules/${made.name}`, { cron: "nope" }), "VALIDATION_ERROR")).toEqual([]);
    expect(await everythingStored(database)).toEqual(before);
    expect(await scheduleOf(service, made)).toEqual(made);
  });

  test("a schedule fires when it is due, from the moment that it is made", async ({ service, clock }) => {
    const handler = await service.handler();
    await schedule(service, { queue: handler.queue, cron: "* * * * * *" });
    await clock.advance(1);
    await until(() => handler.received.length === 1, "the callback");
  });
});
