import { describe, expect } from "vitest";
import { sql } from "#kernel";
import { inTurn } from "../harness/in-turn.ts";
import { joinedBy, NEVER_POLL } from "../harness/nodes.ts";
import { schedules, test, ticksOf } from "../harness/schedules.ts";
import { take, untilWaiting } from "../harness/workers.ts";

describe("three nodes", () => {
  test("three nodes fire each tick once, however they race for it", async ({ service, engine, at }) => {
    const others = [await joinedBy(service, NEVER_POLL), await joinedBy(service, NEVER_POLL)];
    const queue = await service.queue();
    const made = await schedules(service, 300, { queue, catch_up: "all" });
    for (let minute = 0; minute < 5; minute += 1) {
      await service.clock.advance(60);
      const nodes = [...others, service].map(({ node }) => node);
      // In the first minute all three come to record ticks that they have taken, none of which is recorded yet.
      if (minute === 0) {
        const wakes = nodes.map((node) => () => node.wake());
        await inTurn(engine, sql`lock table schedule_tick in share mode`, wakes);
      } else for (const node of nodes) node.wake();
      await service.advance(0);
    }
    for (const other of others) await other.node.stop();
    for (const one of made) expect(await ticksOf(service, one)).toEqual(at("12:01", "12:02", "12:03", "12:04", "12:05"));
  });

  test("three nodes let one job of a schedule run at a time, with overlap skip", async ({ service, database, at: _ }) => {
    const others = [await joinedBy(service, NEVER_POLL), await joinedBy(service, NEVER_POLL)];
    const queue = await service.queue();
    const made = await schedules(service, 100, { queue, cron: "* * * * * *", overlap: "skip" });
    const names = made.map(({ name }) => name).sort();
    for (let round = 0; round < 5; round += 1) {
      // Ticks come due while others are being fired.
      for (let second = 0; second < 4; second += 1) {
        await service.clock.advance(1);
        for (const { node } of [service, ...others]) node.wake();
      }
      await service.advance(0);
      // No job ends before this statement ends them all, so that jobs that were live together are still live.
      const ended = await database.query<{ schedule: string }>(
        "update job set state = 'failed', finished_at = moment() where schedule = any($1) and state <> 'failed' returning schedule",
        [names],
      );
      expect(ended.map((job) => job.schedule).sort()).toEqual(names);
    }
    for (const other of others) await other.node.stop();
  });
});

test.for(["a tick", "a trigger by hand"])(
  "a worker that waits at another node gets the job of %s at once",
  async (of, { service, at: _ }) => {
    const other = await joinedBy(service, NEVER_POLL);
    const queue = await service.queue();
    const [schedule] = await schedules(service, 1, { queue });
    await take(other, queue);
    const waiting = take(other, queue, { wait: 20 });
    await untilWaiting(other, queue);
    if (of === "a tick") {
      await service.clock.advance(60);
      service.node.wake();
    } else await service.ok("POST", `/v1/schedules/${schedule?.name}/trigger`);
    expect(await waiting).toMatchObject([{ schedule: schedule?.name }]);
    await other.node.stop();
  },
);
