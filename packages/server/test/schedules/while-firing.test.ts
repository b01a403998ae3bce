import { describe, expect } from "vitest";
import { sql } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import { inTurn } from "../harness/in-turn.ts";
import { limitedTo, setLimits } from "../harness/limits.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { operate } from "../harness/operator.ts";
import { schedule, testUnpolled as test, ticksOf } from "../harness/schedules.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

/** Schedules that fire every minute, of one queue. */
async function many(service: Service, count: number): Promise<{ name: string }[]> {
  const queue = await service.queue();
  return Promise.all(Array.from({ length: count }, () => schedule(service, { queue })));
}

describe("deletions", () => {
  test("a deleted schedule ends its ticks and leaves its jobs", async ({ service, at }) => {
    const made = await schedule(service);
    await service.advance(60);
    expect((await service.api("DELETE", `/v1/schedules/${made.name}`)).status).toBe(204);
    await service.advance(120);
    expect(await ticksOf(service, made)).toEqual(at("12:01"));
  });

  test("a schedule that is deleted while it fires lets the tick make its job, or none", async ({ service, engine, at }) => {
    const made = await many(service, 40);
    const deletions: Promise<Reply>[] = [];
    const remove = (index: number) => () => (deletions[index] = service.api("DELETE", `/v1/schedules/${made[index]?.name}`));
    await service.clock.advance(60);
    // The first one's deletion waits to write itself down, with the schedule in hand; then the ticks of the others do with theirs.
    await inTurn(engine, sql`lock table audit_event, schedule_tick in share mode`, [remove(0), () => service.node.wake(), remove(1)]);
    for (let index = 2; index < made.length; index += 1) remove(index)();
    const deleted = await Promise.all(deletions);
    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]));
    await service.advance(60);
    const ran = await Promise.all(made.map((one) => ticksOf(service, one)));
    for (const ticks of ran) expect([[], at("12:01")]).toContainEqual(ticks);
    expect(new Set(ran.map(({ length }) => length))).toEqual(new Set([0, 1]));
    // What a job was made for was taken from the usage, and nothing else.
    expect((await service.ok("GET", "/v1/usage")).executions.schedules).toBe(ran.flat().length);
  });

  test("a schedule that is deleted and made anew under its name fires the new one's ticks alone", async ({ service, at }) => {
    const made = await schedule(service);
    await service.clock.advance(60);
    expect((await service.api("DELETE", `/v1/schedules/${made.name}`)).status).toBe(204);
    await schedule(service, { name: made.name });
    await service.advance(60);
    expect(await ticksOf(service, made)).toEqual(at("12:02"));
  });

  test("a deleted queue ends its schedules, while they fire too", async ({ service }) => {
    const queue = await service.queue();
    const made = await Promise.all(Array.from({ length: 40 }, () => schedule(service, { queue })));
    await service.clock.advance(60);
    service.node.wake();
    expect((await service.api("DELETE", `/v1/queues/${queue}`)).status).toBe(204);
    for (const { name } of made) expect((await service.api("GET", `/v1/schedules/${name}`)).status).toBe(404);
    await service.advance(120);
    expect(await service.database.query("select from schedule_tick where tick_at >= moment() - interval '90 seconds'")).toEqual([]);
  });

  test("a deleted workspace ends its schedules while they fire, and leaves its neighbours'", async ({
    service,
    node,
    database,
    clock,
    at,
  }) => {
    const kept = await schedule(service);
    for (const minute of ["12:01", "12:02", "12:03", "12:04"]) {
      const gone = new Service(node, database, clock, await newWorkspace(database));
      await many(gone, 40);
      await clock.set(Date.parse(at(minute)[0] as string));
      node.wake();
      expect((await operate(service, "DELETE", `/admin/v1/workspaces/${gone.workspaceId}`)).status).toBe(204);
      expect(await database.query("select name from schedule")).toEqual([{ name: kept.name }]);
      await service.advance(0);
    }
    expect(await ticksOf(service, kept)).toEqual(at("12:01", "12:02", "12:03", "12:04"));
  });
});

test("a limit that is set while ticks fire counts them all, and lets no more run than it says", async ({
  service,
  database,
  engine,
  at,
}) => {
  const limited = await limitedTo(service, {});
  const made = await many(limited, 40);
  const ticks = hold(engine, sql`lock table schedule_tick in share mode`);
  await ticks.held;
  await service.clock.advance(60);
  service.node.wake();
  await until(() => isWaiting(database, "insert into schedule_tick"), "ticks that found no limit");
  await setLimits(limited, { executions_per_month: 60 });
  await ticks.release();
  await service.advance(0);
  await service.advance(60);
  const ran = (await Promise.all(made.map((one) => ticksOf(limited, one)))).flat().sort();
  expect(ran).toEqual([...Array(40).fill(at("12:01")[0]), ...Array(20).fill(at("12:02")[0])]);
  expect(await limited.ok("GET", "/v1/status")).toMatchObject({ quota: { used: 60, remaining: 0 } });
});
