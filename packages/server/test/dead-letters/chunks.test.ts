import { describe, expect } from "vitest";
import type { ChunkDone, DeadLetterQuery } from "#jobs";
import type { Database, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { type AuditedRequest, purgeDeadLetters, retryDeadLetters } from "../../src/dead-letters/retry.ts";
import { auditLog } from "../harness/audit.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

const REQUEST: AuditedRequest = { audit: auditLog, actorId: "system", resourceType: "dlq", resourceId: "dlq", input: {} };

type Work = (database: Transactional, query: DeadLetterQuery, maxRows: number) => Promise<number>;

const WORKS: Record<"retry" | "purge", Work> = {
  retry: (database, query, maxRows) => retryDeadLetters(database, REQUEST, query, () => {}, maxRows),
  purge: (database, query, maxRows) => purgeDeadLetters(database, REQUEST, query, maxRows),
};

/** Changes all dead letters that match, reading `maxRows` rows at a time. Returns how many jobs were changed in all, and by each transaction. */
async function changed(engine: Database, work: Work, query: DeadLetterQuery, maxRows: number): Promise<[number, number[]]> {
  const perTransaction: number[] = [];
  const counting: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (inner) =>
      engine.transaction(async (tx) => {
        const result = await inner(tx);
        perTransaction.push((result as ChunkDone).lanes.reduce((sum, { jobs }) => sum + jobs, 0));
        return result;
      }),
  };
  return [await work(counting, query, maxRows), perTransaction];
}

describe("a retry or purge of dead letters by filters", () => {
  test.for(["retry", "purge"] as const)(
    "a %s reads a limited number of rows in each step, and reaches all that match",
    async (name, { database, engine }) => {
      const work = WORKS[name];
      const lane: LaneKey = await putLane(database, { paused: true });
      for (let index = 0; index < 12; index += 1)
        await putJobs(database, lane, { state: "failed", tag: index % 6 === 0 ? "rare" : "common" });
      await putJobs(database, lane, { state: "delayed", runAt: "moment() + interval '1 hour'", tag: "rare", count: 2 });
      const query = { workspaceId: lane.workspaceId, laneId: null, filter: { tag: "rare" } };
      // Rows 6 and 12, counted from the newest.
      expect(await changed(engine, work, query, 5)).toEqual([2, [0, 1, 1]]);
      const left = await database.query(
        "select tag, count(*)::int as jobs from job where workspace_id = $1 and state = 'failed' group by tag",
        [lane.workspaceId],
      );
      expect(left).toEqual([{ tag: "common", jobs: 10 }]);
      const rest = { workspaceId: lane.workspaceId, laneId: lane.laneId, filter: {} };
      // With the two delayed jobs, which are not changed, the queue has 12 rows to read.
      expect(await changed(engine, work, rest, 5)).toEqual([10, [3, 5, 2]]);
    },
  );
});
