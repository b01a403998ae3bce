import { describe, expect } from "vitest";
import type { Db, JobId, WorkspaceId } from "#kernel";
import { foldGroupsAcrossWorkspaces, listGroups, sweepGroupsAcrossWorkspaces } from "../../src/dead-letters/groups-store.ts";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import {
  countRunning,
  deleteOldAcrossWorkspaces,
  endOperation,
  findOperation,
  listOperations,
  lockRunning,
  storePortion,
  storeProgress,
  takeTurnAcrossWorkspaces,
} from "../../src/operations/store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { nodesOf, PLANNED_LANE, plansOf, wholesale } from "../harness/plans.ts";

const JOB = { ...PLANNED_LANE, id: "00000000-0000-7000-8000-000000000002" as JobId };
const OPERATION = { workspaceId: PLANNED_LANE.workspaceId, id: JOB.id as never };

/** Statements on what is kept of many jobs: their counts, operations, and groups of dead letters. */
const STATEMENTS_OF_RECORDS: Record<string, (db: Db) => Promise<unknown>> = {
  "fold counts": (db) => foldCountsAcrossWorkspaces(db),
  "count running operations": (db) => countRunning(db, PLANNED_LANE.workspaceId),
  "find an operation": (db) => findOperation(db, OPERATION),
  "list operations": (db) => listOperations(db, PLANNED_LANE.workspaceId, null, 51),
  "take the turn of an operation": (db) => takeTurnAcrossWorkspaces(db),
  "lock a running operation": (db) => lockRunning(db, OPERATION),
  "store a portion": (db) => storePortion(db, OPERATION, [JOB], null),
  "store an operation's progress": (db) => storeProgress(db, OPERATION, [JOB], { done: 1, skipped: 0 }),
  "end an operation": (db) => endOperation(db, OPERATION, "completed"),
  "delete old operations": (db) => deleteOldAcrossWorkspaces(db),
  "list groups of dead letters": (db) => listGroups(db, { workspaceId: PLANNED_LANE.workspaceId, after: null, limit: 51 }),
  "fold groups of dead letters": (db) => foldGroupsAcrossWorkspaces(db),
  "sweep groups of dead letters": (db) => sweepGroupsAcrossWorkspaces(db),
};

/** What a busy workspace has: 3,000 operations that ended, metrics of 50 queues for a day, 1,000 groups of dead letters. */
const putRecords = (database: TestDatabase, workspaceId: WorkspaceId): Promise<unknown> =>
  database.query(
    `with workspace as (
       select $1::uuid as id
     ), operations as (
       insert into operation (workspace_id, id, action, state, ids, actor_id, matched, matched_exact, portion, portion_lanes, created_at, finished_at)
       select w.id, gen_random_uuid(), 'retry', 'completed', 1, 'key', 1, true, '{}', '{}', moment(), moment() from workspace w, generate_series(1, 3000)
     ), lanes as (
       insert into lane (workspace_id, kind, name, served) select w.id, 'queue', 'q' || n, 'push' from workspace w, generate_series(1, 50) n
       returning workspace_id, id
     ), metrics as (
       insert into job_metric (workspace_id, lane_id, span, at) select workspace_id, id, 60, moment() - n * interval '1 minute' from lanes, generate_series(1, 300) n
     ), deltas as (
       insert into job_delta (workspace_id, lane_id, at, live) select workspace_id, id, moment(), 1 from lanes, generate_series(1, 100)
     ), groups as (
       insert into dead_letter_group (workspace_id, fingerprint, code, message, jobs, lanes, first_seen_at, last_seen_at)
       select w.id, lpad(n::text, 16, '0'), 'TIMEOUT', 'It failed.', 1, '{}', moment(), moment() from workspace w, generate_series(1, 1000) n
     ), hours as (
       insert into dead_letter_hour (workspace_id, fingerprint, hour, failed)
       select w.id, lpad(n::text, 16, '0'), moment() - h * interval '1 hour', 1 from workspace w, generate_series(1, 1000) n, generate_series(1, 24) h
     )
     insert into dead_letter_delta (workspace_id, fingerprint, at, jobs, lane_id)
     select w.id, lpad(n::text, 16, '0'), moment(), 1, 1 from workspace w, generate_series(1, 1000) n`,
    [workspaceId],
  );

describe("what is kept of jobs is read by its indexes", () => {
  const read = async (database: TestDatabase, custom: boolean) => {
    const found: string[] = [];
    for (const [name, ask] of Object.entries(STATEMENTS_OF_RECORDS)) {
      const plans = await plansOf(database, ask, { of: "records", custom });
      expect(plans.length).toBeGreaterThan(0);
      for (const node of name === "fold counts" ? plans.flatMap(nodesOf) : [])
        if (node["Relation Name"] === "lane") expect(node["Index Cond"]).toMatch(/\bid = /);
      found.push(...plans.flatMap(wholesale).map((scan) => `${name}: ${scan}`));
    }
    return found;
  };

  test("by a plan that is made and kept while there is nothing", async ({ database }) => {
    expect(await read(database, false)).toEqual([]);
  });

  test("by plans for any values and for given ones, when there is much", async ({ database }) => {
    const { workspaceId } = await putLane(database);
    await putRecords(database, workspaceId);
    expect({ any: await read(database, false), given: await read(database, true) }).toEqual({ any: [], given: [] });
  });
});
