import { describe, expect } from "vitest";
import type { TestDatabase } from "../harness/database.ts";
import { operate } from "../harness/operator.ts";
import { schedule, scheduleOf, test } from "../harness/schedules.ts";
import { newWorkspace, Service } from "../harness/service.ts";

/** The names of the stored schedules: once for each schedule, and once for each of its ticks. */
async function stored(database: TestDatabase): Promise<string[]> {
  const found = await database.query<{ name: string }>(
    `select name from schedule union all
     select s.name from schedule_tick t left join schedule s on s.workspace_id = t.workspace_id and s.id = t.schedule_id`,
  );
  return found.map(({ name }) => name);
}

describe("schedules and their ticks", () => {
  test("schedules and their ticks are gone at once with their queue; those of other queues stay", async ({ service }) => {
    const queue = await service.queue();
    const [kept] = [await schedule(service), await schedule(service, { queue }), await schedule(service, { queue })];
    await service.advance(60);
    expect(await stored(service.database)).toHaveLength(6);
    expect((await service.api("DELETE", `/v1/queues/${queue}`)).status).toBe(204);
    expect(await stored(service.database)).toEqual([kept.name, kept.name]);
    await service.ok("POST", "/v1/queues", { name: queue });
    expect((await service.ok("GET", "/v1/schedules")).data).toMatchObject([{ name: kept.name }]);
  });

  test("schedules and their ticks are gone at once with their workspace; those of other workspaces stay", async ({
    service,
    node,
    database,
    clock,
  }) => {
    const gone = new Service(node, database, clock, await newWorkspace(database));
    const [kept] = [await schedule(service), await schedule(gone)];
    await service.advance(60);
    expect(await stored(database)).toHaveLength(4);
    expect((await operate(service, "DELETE", `/admin/v1/workspaces/${gone.workspaceId}`)).status).toBe(204);
    expect(await stored(database)).toEqual([kept.name, kept.name]);
    expect(await scheduleOf(service, kept)).toMatchObject({ state: "active" });
  });
});
