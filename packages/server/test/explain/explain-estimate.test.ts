import { describe, expect } from "vitest";
import { type JobId, momentMs, toMoment } from "#kernel";
import { type ExplainFixture, test } from "../harness/explain-fixture.ts";

/** The job's estimated start in seconds from now. Null if there is no estimate. */
async function startsIn(stage: ExplainFixture, id: JobId | undefined, nowMs: number): Promise<number | null> {
  const { estimated_start } = await stage.explain(id as JobId);
  return estimated_start === null ? null : (momentMs(estimated_start) - nowMs) / 1000;
}

const inSeconds = (seconds: number): string => `moment() + ${seconds} * interval '1 second'`;

describe("the estimated start is", () => {
  test("the estimated start is now, when nothing holds the job and it is the first in line", async ({ stage, clock }) => {
    expect((await stage.explain(await stage.job())).estimated_start).toBe(toMoment(clock.nowMs()));
  });

  test("the estimated start is when those before it have gone at the pace of the last minute", async ({ stage, clock }) => {
    const ids = await stage.jobs({ count: 6 });
    expect(await startsIn(stage, ids[5], clock.nowMs())).toBeNull();
    await stage.finished(28, 2);
    expect(await startsIn(stage, ids[5], clock.nowMs())).toBe(10);
  });

  test("the estimated start is when it is due, and now when it was due already", async ({ stage, clock }) => {
    const [due, late] = [await stage.job({ state: "delayed", runAt: inSeconds(90) }), await stage.job({ state: "delayed" })];
    expect(await startsIn(stage, due, clock.nowMs())).toBe(90);
    expect(await stage.explain(late)).toMatchObject({ held_by: ["due"], estimated_start: toMoment(clock.nowMs()) });
  });

  test("the estimated start is when it is due, even if all slots of its queue are taken now and nothing has finished", async ({
    stage,
    clock,
  }) => {
    await stage.set("concurrency = 1");
    await stage.job({ state: "active" });
    expect(await startsIn(stage, await stage.job({ state: "delayed", runAt: inSeconds(90) }), clock.nowMs())).toBe(90);
    expect(await startsIn(stage, await stage.job({ state: "delayed" }), clock.nowMs())).toBeNull();
  });

  test("the estimated start is when its queue approves what nobody decides, if it does", async ({ stage, database, clock }) => {
    await stage.set("type = 'approval', approval_timeout = 60, on_timeout = 'approve'");
    const id = await stage.job({ state: "pending_approval" });
    expect(await startsIn(stage, id, clock.nowMs())).toBeNull();
    await database.query("update job set decide_at = moment() + interval '20 seconds' where id = $1", [id]);
    expect(await startsIn(stage, id, clock.nowMs())).toBe(20);
    await stage.set("on_timeout = 'reject'");
    expect(await startsIn(stage, id, clock.nowMs())).toBeNull();
    await stage.set("on_timeout = 'approve', approval_timeout = null");
    expect(await startsIn(stage, id, clock.nowMs())).toBeNull();
  });

  test("the estimated start is the next probe of an endpoint that is taken for dead", async ({ stage, clock }) => {
    await stage.open(7);
    const ids = await stage.jobs({ count: 2 });
    expect(await Promise.all(ids.map((id) => startsIn(stage, id, clock.nowMs())))).toEqual([7, 7]);
  });

  test("the estimated start is when enough jobs in flight will have finished, at the pace of the last minute", async ({ stage, clock }) => {
    await stage.set("concurrency = 3");
    await stage.jobs({ state: "active", count: 2 });
    const ids = await stage.jobs({ count: 4 });
    expect(await startsIn(stage, ids[3], clock.nowMs())).toBeNull();
    await stage.finished(60);
    expect(await Promise.all(ids.map((id) => startsIn(stage, id, clock.nowMs())))).toEqual([0, 1, 2, 3]);
  });

  test("the estimated start in a queue that is younger than a minute goes by the pace since it was created", async ({ stage, clock }) => {
    const ids = await stage.jobs({ count: 5 });
    await stage.finished(12, 0, 6);
    expect(await startsIn(stage, ids[4], clock.nowMs())).toBe(2);
    // A moment after its creation, the pace is that of one second.
    await stage.finished(0, 0, 0);
    expect(await startsIn(stage, ids[4], clock.nowMs())).toBe(0.334);
  });

  test("the estimated start is when the rate has a start left, while fewer jobs are in flight than allowed", async ({ stage, clock }) => {
    await stage.set("concurrency = 3, rate_max = 5, rate_seconds = 2");
    await stage.started(5);
    await stage.finished(5);
    const last = (await stage.jobs({ count: 11 })).at(-1);
    expect(await stage.explain(last as JobId)).toMatchObject({
      held_by: ["rate_limit"],
      summary:
        "Not running: the queue has started 5 of 5 allowed attempts in the last 2 s and may start the next in 2 s. " +
        "10 jobs go before it, and it should start in 6 s.",
    });
    expect(await startsIn(stage, last, clock.nowMs())).toBe(6);
    await stage.jobs({ state: "active", count: 3 });
    expect(await stage.heldBy(last as JobId)).toEqual(["queue_concurrency", "rate_limit"]);
  });

  test("the estimated start for a key goes at the pace of its share of what is in flight", async ({ stage, clock }) => {
    await stage.set("concurrency_per_key = 2");
    await stage.jobs({ state: "active", key: "k", count: 2 });
    await stage.jobs({ state: "active", count: 6 });
    const ids = await stage.jobs({ key: "k", count: 3 });
    expect(await startsIn(stage, ids[2], clock.nowMs())).toBeNull();
    await stage.finished(120);
    // 2 a second, of which the key has 2 of 8.
    expect(await Promise.all(ids.map((id) => startsIn(stage, id, clock.nowMs())))).toEqual([2, 4, 6]);
  });

  test("the estimated start is the latest of what the gates that hold it say", async ({ stage, clock }) => {
    await stage.set("rate_max = 1, rate_seconds = 60");
    await stage.started(1, 20);
    expect(await startsIn(stage, await stage.job({ state: "delayed", runAt: inSeconds(10) }), clock.nowMs())).toBe(40);
    expect(await startsIn(stage, await stage.job({ state: "delayed", runAt: inSeconds(70) }), clock.nowMs())).toBe(70);
  });

  test("the estimated start is unknown for what only somebody can end, whatever else is known", async ({ stage, clock }) => {
    await stage.set("paused = true");
    expect(await startsIn(stage, await stage.job({ state: "delayed", runAt: inSeconds(10) }), clock.nowMs())).toBeNull();
  });

  test("a job that is running or finished has no estimated start", async ({ stage, clock }) => {
    for (const state of ["active", "completed", "failed", "cancelled", "rejected"] as const) {
      expect(await startsIn(stage, await stage.job({ state }), clock.nowMs())).toBeNull();
    }
  });
});

describe("where only the rate holds, the estimated start is the moment at which a claim takes the job", () => {
  /** Claims at each moment at which a start is expected, and a millisecond before. Returns when each job was claimed. */
  async function claimAtEach(
    stage: ExplainFixture,
    clock: { nowMs(): number; set(ms: number): Promise<void> },
    moments: readonly number[],
  ) {
    const taken = new Map<JobId, number>();
    const turns = [...new Set(moments)].sort((a, b) => a - b).flatMap((ms) => [ms - 1, ms]);
    for (const ms of turns.filter((one) => one >= clock.nowMs())) {
      await clock.set(ms);
      for (const { id } of await stage.world.claim(stage.leaseId, 1_000, true)) taken.set(id, ms);
    }
    return taken;
  }

  test("the estimated start where only the rate holds is the moment at which a claim takes the job, through spans that begin empty, half full, and with a limit that was lowered", async ({
    stage,
    clock,
  }) => {
    await stage.set("rate_max = 5, rate_seconds = 10");
    for (const [jobs, seconds] of [
      [2, 1.5],
      [1, 3],
      [2, 0.25],
    ] as const) {
      await stage.jobs({ count: jobs });
      await stage.world.claim(stage.leaseId, 1_000, true);
      await clock.advance(seconds);
    }
    await stage.set("rate_max = 3");
    const ids = await stage.jobs({ count: 11 });
    const estimated = await Promise.all(ids.map(async (id) => momentMs((await stage.explain(id)).estimated_start ?? "")));
    expect(new Set(estimated).size).toBeGreaterThan(4);
    const taken = await claimAtEach(stage, clock, estimated);
    expect(ids.map((id) => taken.get(id))).toEqual(estimated);
  });

  test("the estimated start where only the rate holds is the moment at which a claim takes the job, when some may start at once", async ({
    stage,
    clock,
  }) => {
    await stage.set("rate_max = 4, rate_seconds = 7");
    await stage.jobs({ count: 1 });
    await stage.world.claim(stage.leaseId, 1_000, true);
    await clock.advance(3);
    const ids = await stage.jobs({ count: 10 });
    await stage.finished(6_000_000);
    const estimated = await Promise.all(ids.map(async (id) => momentMs((await stage.explain(id)).estimated_start ?? "")));
    const nowMs = clock.nowMs();
    expect(estimated.map((ms) => Math.floor((ms - nowMs) / 1000))).toEqual([0, 0, 0, 4, 7, 7, 7, 11, 14, 14]);
    const taken = await claimAtEach(stage, clock, [nowMs, ...estimated.slice(3)]);
    expect(ids.slice(3).map((id) => taken.get(id))).toEqual(estimated.slice(3));
  });
});
