import { describe, expect, onTestFinished, test as unit } from "vitest";
import { sql } from "#kernel";
import { busyRetryMs } from "../../src/workers/busy-retry.ts";
import { test, uuidOfJob } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { take } from "../harness/workers.ts";

describe("a job that another transaction holds when a worker asks", () => {
  test.for([
    { of: "a queue without limits", settings: {} },
    { of: "a queue with limits", settings: { concurrency: 10 } },
  ])("is handed out when it is free: job of $of", async ({ settings }, { service, engine }) => {
    const queue = await service.queue(settings);
    const [held, free] = [await service.enqueue({ queue, payload: "held" }), await service.enqueue({ queue, payload: "free" })];
    const lock = hold(engine, sql`select from job where id = ${uuidOfJob(held)} for update`);
    onTestFinished(() => lock.release());
    await lock.held;
    expect((await take(service, queue, { limit: 5 })).map(({ id }) => id)).toEqual([free.id]);
    // This call finds nothing either, and no wake-up comes for it.
    const waiting = take(service, queue, { wait: 20 });
    await lock.release();
    expect((await waiting).map(({ id }) => id)).toEqual([held.id]);
  });

  test("is handed out when its queue is free, if the queue is held with it", async ({ service, engine }) => {
    const queue = await service.queue({ concurrency: 10 });
    const job = await service.enqueue({ queue });
    const lock = hold(engine, sql`select from lane where name = ${queue} for no key update`);
    onTestFinished(() => lock.release());
    await lock.held;
    expect(await take(service, queue)).toEqual([]);
    const waiting = take(service, queue, { wait: 20 });
    await lock.release();
    expect((await waiting).map(({ id }) => id)).toEqual([job.id]);
  });

  unit("costs few claims: late by a quarter of the time that it is held at most, and one claim a second", () => {
    const claimsIn = (heldMs: number) => {
      let claims = 0;
      for (let now = 0; now < heldMs; now += busyRetryMs(now)) claims += 1;
      return claims;
    };
    expect([0, 100, 1_000, 60_000].map(busyRetryMs)).toEqual([25, 50, 275, 1_000]);
    expect([25, 1_000, 60_000].map(claimsIn)).toEqual([1, 11, 73]);
  });
});
