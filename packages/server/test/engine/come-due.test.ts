import { describe, expect } from "vitest";
import { moveDueAcrossWorkspaces } from "#jobs";
import type { LaneKey } from "#lanes";
import { comeDueAcrossWorkspaces } from "../../src/engine/come-due.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

const ago = (seconds: number) => `moment() - interval '${seconds} seconds'`;

/** Lanes of workspaces of their own, with delayed jobs: how many each, due for how many seconds. */
async function putDelayed(database: TestDatabase, ...lanes: [count: number, secondsAgo: number][]): Promise<LaneKey[]> {
  await database.query("truncate job");
  const put: LaneKey[] = [];
  for (const [count, seconds] of lanes) {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "delayed", runAt: ago(seconds), count });
    put.push(lane);
  }
  return put;
}

/** How many jobs of each lane wait. */
const waitingIn = async (database: TestDatabase, lanes: readonly LaneKey[]): Promise<number[]> =>
  Promise.all(
    lanes.map(async ({ workspaceId, laneId }) => {
      const [found] = await database.query<{ jobs: number }>(
        "select count(*)::int as jobs from job where workspace_id = $1 and lane_id = $2 and state = 'waiting'",
        [workspaceId, laneId],
      );
      return found?.jobs ?? 0;
    }),
  );

describe("jobs that come due", () => {
  test("jobs that come due are all moved by one batch when they are few", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [5, 2], [5, 1]);
    const { moved, isCrowded } = await moveDueAcrossWorkspaces(engine, 10);
    expect([moved, isCrowded]).toEqual([10, false]);
    expect(await waitingIn(database, lanes)).toEqual([5, 5]);
  });

  test("each workspace with due jobs gets an equal share of a batch when more are due than it moves", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [100, 60], [3, 1], [50, 2]);
    expect(await moveDueAcrossWorkspaces(engine, 30)).toMatchObject({ moved: 23, isCrowded: true });
    expect(await waitingIn(database, lanes)).toEqual([10, 3, 10]);
    expect(await moveDueAcrossWorkspaces(engine, 30)).toMatchObject({ moved: 30, isCrowded: true });
    expect(await waitingIn(database, lanes)).toEqual([25, 3, 25]);
  });

  test("a workspace that is alone gets the whole batch, its longest waiting jobs first", async ({ database, engine }) => {
    const [lane] = await putDelayed(database, [50, 1]);
    await putJobs(database, lane as LaneKey, { state: "delayed", runAt: ago(9), tag: "old", count: 10 });
    await moveDueAcrossWorkspaces(engine, 20);
    const moved = await database.query("select tag, count(*)::int as jobs from job where state = 'waiting' group by tag order by tag");
    expect(moved).toEqual([
      { tag: "old", jobs: 10 },
      { tag: null, jobs: 10 },
    ]);
  });

  test("workspaces whose jobs have waited longest come first when there are more of them than a batch moves jobs", async ({
    database,
    engine,
  }) => {
    const lanes = await putDelayed(database, [2, 1], [2, 4], [2, 2], [2, 3]);
    await moveDueAcrossWorkspaces(engine, 3);
    expect(await waitingIn(database, lanes)).toEqual([0, 1, 1, 1]);
  });

  test("workspaces whose jobs are not due yet take no share", async ({ database, engine }) => {
    const lanes = await putDelayed(database, [20, 1], [1, -60], [1, -60]);
    await moveDueAcrossWorkspaces(engine, 10);
    expect(await waitingIn(database, lanes)).toEqual([10, 0, 0]);
  });

  test("the next batch follows at once while there is more, and at the time of the next job after that", async ({ database, engine }) => {
    await putDelayed(database, [1_001, 1], [1, -60]);
    const waker = { wake: () => {}, wakeAt: () => {} };
    expect(await comeDueAcrossWorkspaces(engine, waker)).toBe(0);
    expect(await comeDueAcrossWorkspaces(engine, waker)).toBe(60_000);
  });

  test("a node waits a little while another one has locked all that is due", async ({ database, engine }) => {
    await putDelayed(database, [1_001, 1]);
    const waker = { wake: () => {}, wakeAt: () => {} };
    const wait = await engine.transaction(async (tx) => {
      await moveDueAcrossWorkspaces(tx, 2_000);
      return comeDueAcrossWorkspaces(engine, waker);
    });
    expect(wait).toBe(50);
  });

  test("to find out that nothing is due takes one statement", async ({ database, engine }) => {
    await putDelayed(database, [1, -60]);
    let statements = 0;
    const db: typeof engine.query = (statement) => {
      statements += 1;
      return engine.query(statement);
    };
    expect(await comeDueAcrossWorkspaces({ query: db }, { wake: () => {}, wakeAt: () => {} })).toBe(60_000);
    expect(statements).toBe(1);
  });
});
