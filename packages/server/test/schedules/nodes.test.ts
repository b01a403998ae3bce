import { describe, expect } from "vitest";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { schedule, test, ticksOf } from "../harness/schedules.ts";

describe("three nodes", () => {
  test("fire each tick once, however they race for it", async ({ service, at }) => {
    const others = [await joinedBy(service, NEVER_POLL), await joinedBy(service, NEVER_POLL)];
    const queue = await service.queue();
    const made = await Promise.all(Array.from({ length: 300 }, () => schedule(service, { queue, catch_up: "all" })));
    for (let minute = 0; minute < 5; minute += 1) {
      await service.clock.advance(60);
      for (const { node } of others) node.wake();
      await service.advance(0);
    }
    for (const other of others) await other.node.stop();
    for (const one of made) expect(await ticksOf(service, one)).toEqual(at("12:01", "12:02", "12:03", "12:04", "12:05"));
  });

  test("let one job of a schedule run at a time, with overlap skip", async ({ service, at }) => {
    const others = [await joinedBy(service, NEVER_POLL), await joinedBy(service, NEVER_POLL)];
    const queue = await service.queue();
    const made = await Promise.all(Array.from({ length: 100 }, () => schedule(service, { queue, cron: "* * * * * *", overlap: "skip" })));
    for (let second = 0; second < 20; second += 1) {
      await service.clock.advance(1);
      for (const { node } of others) node.wake();
      service.node.wake();
    }
    await service.advance(0);
    for (const other of others) await other.node.stop();
    for (const one of made) expect(await ticksOf(service, one)).toHaveLength(1);
    expect(at("12:00")).toHaveLength(1);
  });
});
