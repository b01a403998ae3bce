import fc from "fast-check";
import { describe, expect } from "vitest";
import { readLaneMetrics } from "#jobs";
import type { Database } from "#kernel";
import type { LaneKey } from "#lanes";
import { foldTallyAcrossWorkspaces } from "../../src/jobs/store/tally.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

interface Entry {
  readonly secondsAgo: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly rejected: number;
}

async function note(
  database: TestDatabase,
  { workspaceId, laneId }: LaneKey,
  { secondsAgo, completed, failed, cancelled, rejected }: Entry,
): Promise<void> {
  await database.query("insert into tally values ($1, $2, moment() - $3 * interval '1 second', $4, $5, $6, $7)", [
    workspaceId,
    laneId,
    secondsAgo,
    completed,
    failed,
    cancelled,
    rejected,
  ]);
}

const entry = (secondsAgo: number, completed = 1): Entry => ({ secondsAgo, completed, failed: 0, cancelled: 0, rejected: 0 });
const rowsOf = (database: TestDatabase, { laneId }: LaneKey) =>
  database.query<{ day: string; completed: number }>(
    "select at::date::text as day, completed from tally where lane_id = $1 order by at, completed",
    [laneId],
  );

async function metrics(engine: Database, { workspaceId, laneId }: LaneKey) {
  return readLaneMetrics(engine, { workspaceId, laneId });
}

const HOUR = 3_600;
const DAY = 86_400;

describe("folding the tally", () => {
  test("folding the tally adds up what is older than two minutes into one row for each day", async ({ database, engine }) => {
    const lane = await putLane(database);
    for (const secondsAgo of [121, 300, 2 * HOUR, 11 * HOUR, DAY, DAY + HOUR]) await note(database, lane, entry(secondsAgo));
    await foldTallyAcrossWorkspaces(engine);
    // Time is frozen at noon.
    expect(await rowsOf(database, lane)).toEqual([
      { day: "2026-11-20", completed: 2 },
      { day: "2026-11-21", completed: 4 },
    ]);
  });

  test("folding the tally leaves what is younger than two minutes as it is", async ({ database, engine }) => {
    const lane = await putLane(database);
    for (const secondsAgo of [0, 30, 60, 119, 120]) await note(database, lane, entry(secondsAgo));
    await foldTallyAcrossWorkspaces(engine);
    expect(await rowsOf(database, lane)).toHaveLength(5);
  });

  test("folding the tally keeps lanes apart", async ({ database, engine }) => {
    const lanes = [await putLane(database), await putLane(database)] as const;
    for (const lane of lanes)
      for (const secondsAgo of [HOUR, 2 * HOUR]) await note(database, lane, entry(secondsAgo, Number(lane === lanes[0]) + 1));
    await foldTallyAcrossWorkspaces(engine);
    expect((await rowsOf(database, lanes[0])).map(({ completed }) => completed)).toEqual([4]);
    expect((await rowsOf(database, lanes[1])).map(({ completed }) => completed)).toEqual([2]);
  });

  test("folding the tally again and again still leaves one row for each day: the table must not grow with time", async ({
    database,
    engine,
    clock,
  }) => {
    const lane = await putLane(database);
    for (let pass = 0; pass < 5; pass += 1) {
      await note(database, lane, entry(0));
      await clock.advance(150);
      await foldTallyAcrossWorkspaces(engine);
    }
    expect((await rowsOf(database, lane)).map(({ completed }) => completed)).toEqual([5]);
  });

  test("folding the tally by several nodes at once loses and doubles nothing", async ({ database, engine }) => {
    const lane = await putLane(database);
    for (let index = 0; index < 50; index += 1) await note(database, lane, entry(200 + index));
    await Promise.all([1, 2, 3, 4].map(() => foldTallyAcrossWorkspaces(engine)));
    expect(await metrics(engine, lane)).toMatchObject({ completed: 50 });
  });

  test("folding the tally changes no metric of a queue", async ({ database, engine }) => {
    const count = fc.integer({ min: -3, max: 50 });
    const any = fc.record({
      secondsAgo: fc.oneof(fc.integer({ min: 0, max: 180 }), fc.integer({ min: 0, max: 300 * DAY })),
      completed: count,
      failed: count,
      cancelled: count,
      rejected: count,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(any, { maxLength: 12 }), async (entries) => {
        const lane = await putLane(database);
        for (const one of entries) await note(database, lane, one);
        const before = await metrics(engine, lane);
        await foldTallyAcrossWorkspaces(engine);
        await foldTallyAcrossWorkspaces(engine);
        expect(await metrics(engine, lane)).toEqual(before);
      }),
      { numRuns: 30 },
    );
  });

  test("folding the tally does not hide what history still shows", async ({ database, engine }) => {
    const lane = await putLane(database, { retentionDays: 7 });
    const secondsAgo = 7 * DAY - HOUR;
    await putJobs(database, lane, {
      state: "completed",
      finishedAt: `moment() - ${secondsAgo} * interval '1 second'`,
      expiresAt: "moment() + interval '1 hour'",
    });
    await note(database, lane, entry(secondsAgo));
    expect(await metrics(engine, lane)).toMatchObject({ completed: 1 });
    await foldTallyAcrossWorkspaces(engine);
    expect(await metrics(engine, lane)).toMatchObject({ completed: 1 });
  });
});
