import { describe, expect } from "vitest";
import { limitedTo } from "../harness/limits.ts";
import { schedule, test, ticksOf } from "../harness/schedules.ts";
import { type Service, until } from "../harness/service.ts";

const BEHIND = { cron: "* * * * * *", catch_up: "all" };

async function countJobs({ database }: Service): Promise<number> {
  const [found] = await database.query<{ jobs: number }>("select count(*)::int as jobs from job where schedule is not null");
  return found?.jobs ?? 0;
}

describe("schedules that make up for a thousand ticks each", () => {
  test("another workspace's tick is fired in its turn while 60 schedules make up for a thousand ticks each", async ({ service, at }) => {
    const other = await limitedTo(service, {});
    const queue = await service.queue();
    await Promise.all(Array.from({ length: 60 }, () => schedule(service, { ...BEHIND, queue })));
    const made = await schedule(other, { cron: "0 13 * * *", catch_up: "none" });
    const before = await countJobs(service);
    await service.clock.advance(3_600);
    service.node.wake();
    await until(async () => (await ticksOf(other, made)).length === 1, "the tick");
    expect(await ticksOf(other, made)).toEqual(at("13:00"));
    expect((await countJobs(service)) - before).toBeLessThan(30_000);
  });

  test("the workspace's own ticks that are on time come before those that are made up for, and those that missed less are done sooner", async ({
    service,
    at,
  }) => {
    const queue = await service.queue();
    await Promise.all(Array.from({ length: 60 }, () => schedule(service, { ...BEHIND, queue })));
    const punctual = await schedule(service, { cron: "0 13 * * *", catch_up: "none" });
    const overdue = await schedule(service, { cron: "30 12 * * *", catch_up: "last" });
    const before = await countJobs(service);
    await service.clock.advance(3_600);
    service.node.wake();
    await until(async () => (await ticksOf(service, overdue)).length === 1, "the overdue tick");
    expect([await ticksOf(service, punctual), await ticksOf(service, overdue)]).toEqual([at("13:00"), at("12:30")]);
    expect((await countJobs(service)) - before).toBeLessThan(30_000);
  });

  test("each schedule that makes up for ticks runs its newest thousand, and no tick more", async ({ service, at }) => {
    const made = [await schedule(service, BEHIND), await schedule(service, BEHIND), await schedule(service, BEHIND)];
    await service.advance(3_600);
    for (const one of made) {
      const ticks = await ticksOf(service, one);
      expect([ticks.length, ticks[0], ticks.at(-1)]).toEqual([1_000, ...at("12:43:21", "13:00:00")]);
    }
  });
});

test("large payloads of one workspace leave another its turn", async ({ service }) => {
  const other = await limitedTo(service, {});
  const queue = await service.queue();
  const heavy = await Promise.all(Array.from({ length: 12 }, () => schedule(service, { queue, payload: "x".repeat(1_000_000) })));
  const light = await Promise.all(Array.from({ length: 20 }, () => schedule(other)));
  await service.clock.advance(60);
  service.node.wake();
  const ran = async (of: Service, made: { name: string }[]) => (await Promise.all(made.map((one) => ticksOf(of, one)))).flat().length;
  await until(async () => (await ran(other, light)) === 20, "the light ones");
  expect(await ran(service, heavy)).toBeLessThan(12);
  await service.advance(0);
  expect(await ran(service, heavy)).toBe(12);
});

test("what the database refuses of one workspace stays with it", async ({ service, at }) => {
  const other = await limitedTo(service, {});
  const [broken, made] = [await schedule(service), await schedule(other)];
  // Its job cannot be stored, because this number of attempts is not allowed.
  await service.database.query("update schedule set attempts = -1 where name = $1", [broken.name]);
  await service.clock.advance(60);
  service.node.wake();
  await until(async () => (await ticksOf(other, made)).length === 1, "the other's tick");
  expect(await ticksOf(service, broken)).toEqual([]);
  await service.database.query("update schedule set attempts = 3 where name = $1", [broken.name]);
  await service.advance(0);
  expect([await ticksOf(service, broken), await ticksOf(other, made)]).toEqual([at("12:01"), at("12:01")]);
});
