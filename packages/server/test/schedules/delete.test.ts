import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { hold, isWaiting } from "../harness/locks.ts";
import { operate } from "../harness/operator.ts";
import { faultsOf } from "../harness/problem.ts";
import { schedule, test } from "../harness/schedules.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

test("deleting a schedule leaves its jobs, and what was deleted answers as what never was", async ({ service, at: _ }) => {
  const made = await schedule(service);
  const job = await service.ok("POST", `/v1/schedules/${made.name}/trigger`);
  expect((await service.api("DELETE", `/v1/schedules/${made.name}`)).status).toBe(204);
  expect(await service.job(job)).toMatchObject({ state: "waiting", schedule: made.name });
  for (const name of [made.name, "absent"]) {
    const replies = [
      await service.api("GET", `/v1/schedules/${name}`),
      await service.api("DELETE", `/v1/schedules/${name}`),
      await service.api("PATCH", `/v1/schedules/${name}`, { tag: "t" }),
      await service.api("POST", `/v1/schedules/${name}/trigger`),
    ];
    expect(replies.flatMap((reply) => faultsOf(reply, "NOT_FOUND"))).toEqual([]);
  }
  expect((await service.ok("GET", "/v1/schedules")).data).toEqual([]);
});

test("patches, pauses, resumes, triggers and the deletion of one schedule at once leave nothing half done", async ({
  service,
  at: _,
  database,
}) => {
  const [queue, other] = [await service.queue(), await service.queue()];
  for (let round = 0; round < 4; round += 1) {
    const made = await schedule(service, { queue, cron: "* * * * * *" });
    const path = `/v1/schedules/${made.name}`;
    await service.clock.advance(3);
    service.node.wake();
    const replies = await Promise.all([
      ...Array.from({ length: 6 }, (_, n) =>
        service.api("PATCH", path, { queue: n % 2 ? queue : other, cron: n % 2 ? "*/2 * * * * *" : "* * * * * *" }),
      ),
      ...Array.from({ length: 6 }, (_, n) => service.api("PATCH", `${path}/${n % 2 ? "pause" : "resume"}`)),
      ...Array.from({ length: 6 }, () => service.api("POST", `${path}/trigger`)),
      ...(round % 2 ? [service.api("DELETE", path)] : []),
    ]);
    const allowed = round % 2 ? [200, 201, 204, 404] : [200, 201];
    expect(replies.map(({ status }) => status).filter((status) => !allowed.includes(status))).toEqual([]);
    expect((await service.api("GET", path)).status).toBe(round % 2 ? 404 : 200);
    const triggered = replies.filter(({ status }) => status === 201).map(({ body }) => body.id);
    expect(new Set(triggered).size).toBe(triggered.length);
    await service.api("DELETE", path);
  }
  expect(await database.query("select from schedule_tick")).toEqual([]);
});

describe("a queue that is deleted", () => {
  test("a queue that is deleted takes its schedules with it at once, and leaves those of others", async ({ service, at: _ }) => {
    const [gone, kept] = [await service.queue(), await service.queue()];
    for (let made = 0; made < 3; made += 1) await schedule(service, { queue: gone });
    const other = await schedule(service, { queue: kept });
    const moved = await schedule(service, { queue: gone });
    await service.ok("PATCH", `/v1/schedules/${moved.name}`, { queue: kept });
    await service.ok("DELETE", `/v1/queues/${gone}`);
    const { data } = await service.ok("GET", "/v1/schedules");
    expect(data.map(({ name }: { name: string }) => name)).toEqual([moved.name, other.name]);
    const { data: events } = await service.ok("GET", "/v1/audit-events?event_type=queue.deleted");
    expect(events).toMatchObject([{ resource_id: gone, output: { schedules: 3 } }]);
  });

  test("a queue that is deleted while schedules are made for it and moved to it leaves none behind", async ({
    service,
    at: _,
    database,
  }) => {
    const home = await service.queue();
    for (let round = 0; round < 8; round += 1) {
      const queue = await service.queue();
      const movers = await Promise.all([home, queue, home, queue].map((from) => schedule(service, { queue: from })));
      const replies = await Promise.all([
        ...Array.from({ length: 4 }, () => service.api("POST", "/v1/schedules", { queue, cron: "* * * * *", timezone: "UTC" })),
        ...movers.map(({ name }) => service.api("PATCH", `/v1/schedules/${name}`, { queue })),
        service.api("DELETE", `/v1/queues/${queue}`),
      ]);
      expect(replies.map(({ status }) => status).filter((status) => ![200, 201, 204, 404].includes(status))).toEqual([]);
      const orphans = await database.query(
        "select s.name from schedule s join lane q on q.workspace_id = s.workspace_id and q.id = s.lane_id where q.deleted_at is not null",
      );
      expect(orphans).toEqual([]);
    }
  });

  test("a queue that is deleted waits for who makes a schedule for it, and takes that too", async ({
    service,
    at: _,
    database,
    engine,
  }) => {
    const queue = await service.queue();
    // A request that creates a schedule waits while it holds the queue's lock.
    const schedules = hold(engine, sql`lock table schedule in share mode`);
    await schedules.held;
    const replies = [service.api("POST", "/v1/schedules", { queue, cron: "* * * * *", timezone: "UTC" })];
    try {
      await until(() => isWaiting(database, "insert into schedule"), "the schedule to be made");
      replies.push(service.api("DELETE", `/v1/queues/${queue}`));
      await until(() => isWaiting(database, "update lane set deleted_at"), "the deletion to wait");
    } finally {
      await schedules.release();
    }
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([201, 204]);
    expect(await service.ok("GET", "/v1/schedules")).toMatchObject({ data: [] });
  });
});

test("schedules go with their workspace at once", async ({ service, node, database, clock, at: _ }) => {
  const gone = new Service(node, database, clock, await newWorkspace(database));
  await schedule(gone);
  const kept = await schedule(service);
  expect((await operate(service, "DELETE", `/admin/v1/workspaces/${gone.workspaceId}`)).status).toBe(204);
  expect(await database.query("select name from schedule")).toEqual([{ name: kept.name }]);
});
