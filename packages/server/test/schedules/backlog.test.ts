import { expect } from "vitest";
import { sql } from "#kernel";
import { limitedTo } from "../harness/limits.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { NEVER_POLL, testWith } from "../harness/nodes.ts";
import { faultsOf } from "../harness/problem.ts";
import { schedule, ticksOf } from "../harness/schedules.ts";
import { type Service, until } from "../harness/service.ts";

const test = testWith(NEVER_POLL);

/** A schedule that has missed a thousand ticks, of 20 kB each: several transactions' worth. */
async function behind(service: Service, queue?: string): Promise<{ name: string; queue: string }> {
  const made = await schedule(service, { ...(queue && { queue }), cron: "@yearly", catch_up: "all", payload: "x".repeat(20_000) });
  // No wake-up has told the node about them.
  await service.database.query(
    "update schedule set cron = '* * * * * *', next_run_at = date_trunc('second', moment()) - interval '999 seconds' where name = $1",
    [made.name],
  );
  return made;
}

test("others are served from the workspace's quota while a change waits for a backlog to be fired", async ({
  service,
  database,
  engine,
}) => {
  const limited = await limitedTo(service, { executions_per_month: 5_000 });
  const made = await behind(limited);
  const ticks = hold(engine, sql`lock table schedule_tick in share mode`);
  await ticks.held;
  const patched = limited.ok("PATCH", `/v1/schedules/${made.name}`, { cron: "@yearly" });
  await until(() => isWaiting(database, "insert into schedule_tick"), "the first ticks to be taken");
  // After the transaction that fires those, and before the next one.
  const schedules = hold(engine, sql`lock table schedule in exclusive mode`);
  await until(() => isWaiting(database, "lock table schedule in exclusive mode"), "the place between two transactions");
  await ticks.release();
  await schedules.held;
  try {
    expect(await limited.enqueue({ queue: made.queue })).toMatchObject({ state: "waiting" });
    const fired = (await ticksOf(limited, made)).length;
    expect([fired > 0, fired < 1_000]).toEqual([true, true]);
  } finally {
    await schedules.release();
  }
  expect(await patched).toMatchObject({ cron: "@yearly" });
  expect(await ticksOf(limited, made)).toHaveLength(1_000);
  expect(await limited.ok("GET", "/v1/status")).toMatchObject({ quota: { used: 1_001 } });
});

test("what a refused trigger has fired of a backlog stays, and is delivered", async ({ service }) => {
  const limited = await limitedTo(service, { executions_per_month: 200 });
  const handler = await limited.handler();
  const made = await behind(limited, handler.queue);
  const refused = await limited.api("POST", `/v1/schedules/${made.name}/trigger`);
  expect(faultsOf(refused, "QUOTA_EXCEEDED")).toEqual([]);
  await until(() => handler.received.length === 200, "the callbacks");
  expect(new Set(await ticksOf(limited, made)).size).toBe(200);
  await limited.close();
});
