import { describe, expect } from "vitest";
import type { WorkspaceId } from "#kernel";
import { sweepDeletedLanesAcrossWorkspaces, sweepDeletedWorkspacesAcrossWorkspaces } from "#retention";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { putSchedule } from "../harness/schedules.ts";

const markDeleted = (database: TestDatabase, id: WorkspaceId) =>
  database.query("update workspace set deleted_at = moment() where id = $1", [id]);

const isThere = async (database: TestDatabase, id: WorkspaceId): Promise<boolean> =>
  (await database.query("select from workspace where id = $1", [id])).length > 0;

/** Rows that a workspace can leave behind, inserted directly, and the statement that deletes them. */
const LEFT: Record<string, { put: string; take: string }> = {
  "a job": {
    put: `insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      values ($1, 1, gen_random_uuid(), 'waiting', 0, 1, 0, moment(), moment(), '1')`,
    take: "delete from job where workspace_id = $1",
  },
  "a finished job": {
    put: `insert into job_history (workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
        finished_at, payload, attempts_log, expires_at)
      values ($1, 1, gen_random_uuid(), 'queue', 'completed', 0, 1, 0, 1, 0, moment(), moment(), moment(), '1', '', moment() + interval '1 day')`,
    take: "delete from job_history where workspace_id = $1",
  },
  "an idempotency key": {
    put: `insert into idempotency_key (workspace_id, lane_id, key, job_id, fingerprint, check_at)
      values ($1, 1, 'k', gen_random_uuid(), sha256('x'), moment())`,
    take: "delete from idempotency_key where workspace_id = $1",
  },
  "a key of a batch": {
    put: `insert into batch_key (workspace_id, lane_id, key, job_ids, fingerprint, expires_at)
      values ($1, 1, 'k', '{}', sha256('x'), moment())`,
    take: "delete from batch_key where workspace_id = $1",
  },
  "a tally": {
    put: "insert into tally (workspace_id, lane_id, at) values ($1, 1, moment())",
    take: "delete from tally where workspace_id = $1",
  },
  "usage of today": {
    put: "insert into usage_delta (workspace_id, lane_id, at, jobs) values ($1, 1, moment(), 1)",
    take: "delete from usage_delta where workspace_id = $1",
  },
  "usage of a day": {
    put: `insert into usage_day (workspace_id, day, lane_id, jobs, schedules, workflows, succeeded, failed)
      values ($1, moment()::date, 1, 1, 0, 0, 1, 0)`,
    take: "delete from usage_day where workspace_id = $1",
  },
};

describe("a deleted workspace", () => {
  test("a deleted workspace goes when its queues have gone, a minute after at the soonest; others stay", async ({
    database,
    clock,
    engine,
  }) => {
    const [deleted, kept] = [await putLane(database), await putLane(database)];
    await putJobs(database, deleted, { state: "completed" });
    await database.query(
      "insert into api_key (id, workspace_id, name, role, hash) values (gen_random_uuid(), $1, 'x', 'read', sha256('x'))",
      [deleted.workspaceId],
    );
    await markDeleted(database, deleted.workspaceId);
    await clock.advance(60);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, deleted.workspaceId)).toBe(true);
    await clock.advance(60.001);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, deleted.workspaceId)).toBe(true);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect([await isThere(database, deleted.workspaceId), await isThere(database, kept.workspaceId)]).toEqual([false, true]);
    expect(await database.query("select from api_key where workspace_id = $1", [deleted.workspaceId])).toEqual([]);
    expect(await database.query("select from lane where id = $1 and deleted_at is null", [kept.laneId])).toHaveLength(1);
  });

  test("a deleted workspace loses its schedules with the queues that were made while it was being deleted; others keep theirs", async ({
    database,
    engine,
  }) => {
    const [deleted, kept] = [await putLane(database), await putLane(database)];
    for (const lane of [deleted, kept]) await putSchedule(database, lane);
    await markDeleted(database, deleted.workspaceId);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    for (const table of ["schedule", "schedule_tick"]) {
      const left = await database.query(`select workspace_id from ${table} where workspace_id in ($1, $2)`, [
        deleted.workspaceId,
        kept.workspaceId,
      ]);
      expect(left).toEqual([{ workspace_id: kept.workspaceId }]);
    }
  });

  test("a deleted workspace without anything stays for a minute", async ({ database, clock, engine }) => {
    const { workspaceId } = await putLane(database);
    await database.query("delete from lane where workspace_id = $1", [workspaceId]);
    await markDeleted(database, workspaceId);
    await clock.advance(60);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(true);
    await clock.advance(0.001);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(false);
  });

  test.for(Object.entries(LEFT))("a deleted workspace stays while there is %s", async ([, { put, take }], { database, clock, engine }) => {
    const { workspaceId } = await putLane(database);
    await database.query("delete from lane where workspace_id = $1", [workspaceId]);
    await database.query(put, [workspaceId]);
    await markDeleted(database, workspaceId);
    await clock.advance(61);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(true);
    await database.query(take, [workspaceId]);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(false);
  });

  test("a deleted workspace stays while its audit log is kept", async ({ database, clock, engine }) => {
    const { workspaceId } = await putLane(database, { retentionDays: 7 });
    await database.query("delete from lane where workspace_id = $1", [workspaceId]);
    await database.query(
      "select append_audit_event($1, gen_random_uuid(), 'workspace.deleted', 'operator', 'workspace', 'ws_x', null, null)",
      [workspaceId],
    );
    await markDeleted(database, workspaceId);
    await clock.advance(61);
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(true);
    await clock.advance(40 * 86_400);
    await database.query("select drop_partitions('audit_event', moment()::date)");
    await database.query("select clear_expired('audit_event')");
    await sweepDeletedWorkspacesAcrossWorkspaces(engine);
    expect(await isThere(database, workspaceId)).toBe(false);
  });
});
