import { describe, expect } from "vitest";
import { type ChunkDone, type DeadLetterQuery, NEWEST, purgeFailed, retryFailed } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import { readMoment } from "../../src/dead-letters/store.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

/** Works through all dead letters with chunks of this many rows. Returns how many jobs each changed. */
async function chunksOf(db: Db, work: typeof retryFailed, query: DeadLetterQuery, limit: number): Promise<number[]> {
  const until = await readMoment(db);
  const changed: number[] = [];
  for (let before: JobId | null = NEWEST; before !== null; ) {
    const done: ChunkDone = await work(db, query, { until, before, limit });
    changed.push(done.lanes.reduce((sum, { jobs }) => sum + jobs, 0));
    before = done.reached;
  }
  return changed;
}

describe("a retry or purge of dead letters by filters", () => {
  test.for([
    ["retry", retryFailed],
    ["purge", purgeFailed],
  ] as const)("a %s reads a limited number of rows in each step, and reaches all that match", async ([, work], { database, engine }) => {
    const lane: LaneKey = await putLane(database, { paused: true });
    for (let index = 0; index < 12; index += 1)
      await putJobs(database, lane, { state: "failed", tag: index % 6 === 0 ? "rare" : "common" });
    await putJobs(database, lane, { state: "delayed", runAt: "moment() + interval '1 hour'", tag: "rare", count: 2 });
    const query = { workspaceId: lane.workspaceId, laneId: null, filter: { tag: "rare" } };
    // Rows 6 and 12, counted from the newest.
    expect(await chunksOf(engine, work, query, 5)).toEqual([0, 1, 1]);
    const left = await database.query(
      "select tag, count(*)::int as jobs from job where workspace_id = $1 and state = 'failed' group by tag",
      [lane.workspaceId],
    );
    expect(left).toEqual([{ tag: "common", jobs: 10 }]);
    const rest = { workspaceId: lane.workspaceId, laneId: lane.laneId, filter: {} };
    // With the two delayed jobs, which are not changed, the queue has 12 rows to read.
    expect(await chunksOf(engine, work, rest, 5)).toEqual([3, 5, 2]);
  });
});
