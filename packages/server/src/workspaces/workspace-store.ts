import type { Limits, Plan } from "@tidemill/contract";
import { type Db, row, rows, sql, type WorkspaceId } from "#kernel";
import type { WorkspaceRow } from "./workspace.ts";

export const insertWorkspace = (db: Db, id: WorkspaceId, name: string, plan: Plan, limits: Limits): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      insert into workspace (id, name, plan, executions_per_month, requests_per_minute, retention_days)
      values (${id}, ${name}, ${plan}, ${limits.executions_per_month}, ${limits.requests_per_minute}, ${limits.retention_days})
      returning id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at`,
  );

export const lockFirstWorkspace = (db: Db): Promise<unknown> => row(db, sql`select pg_advisory_xact_lock(7305512010)`);

export const anyWorkspace = async (db: Db): Promise<boolean> =>
  (await row<{ there: boolean }>(db, sql`select exists (select from workspace) as there`))?.there ?? false;

export const findWorkspace = (db: Db, id: WorkspaceId): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      select id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at
      from workspace where id = ${id} and deleted_at is null`,
  );

/** The key that seals row numbers in the workspace's cursors. Uses the primary key. */
export async function readCursorKey(db: Db, id: WorkspaceId): Promise<Buffer> {
  const found = await row<{ cursor_key: Buffer }>(db, sql`select cursor_key from workspace where id = ${id}`);
  if (!found) throw new Error("The workspace of a valid key does not exist.");
  return found.cursor_key;
}

/** Locks the workspace against other changes until the transaction ends. Rows that refer to it can still be inserted. */
export const lockWorkspace = (db: Db, id: WorkspaceId): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      select id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at
      from workspace where id = ${id} and deleted_at is null for no key update`,
  );

/** Lists workspaces older than `before`, newest first. Uses the primary key. */
export const listAcrossWorkspaces = (db: Db, before: WorkspaceId | null, limit: number): Promise<WorkspaceRow[]> =>
  rows(
    db,
    sql`
      select id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at
      from workspace where deleted_at is null and (${before}::uuid is null or id < ${before})
      order by id desc limit ${limit}`,
  );

export const updateWorkspace = (
  db: Db,
  id: WorkspaceId,
  { name, plan, limits, limitsChanged }: { name: string; plan: Plan; limits: Limits; limitsChanged: boolean },
): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      update workspace set name = ${name}, plan = ${plan}, executions_per_month = ${limits.executions_per_month},
        requests_per_minute = ${limits.requests_per_minute}, retention_days = ${limits.retention_days}, updated_at = moment(),
        limits_changed_at = case when ${limitsChanged} then moment() else limits_changed_at end
      where id = ${id}
      returning id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at`,
  );

/** Returns null when there is no such workspace. */
export const markWorkspaceDeleted = (db: Db, id: WorkspaceId): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      update workspace set deleted_at = moment(), updated_at = moment() where id = ${id} and deleted_at is null
      returning id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at, updated_at`,
  );

/** Whether the row of a deleted workspace still exists. Uses index workspace_deleted. */
export const hasDeletedAcrossWorkspaces = async (db: Db): Promise<boolean> =>
  (await row(db, sql`select from workspace where deleted_at is not null limit 1`)) !== null;

/**
 * Removes the rows of deleted workspaces that have no other data left, and returns their ids. A row stays for at least a minute, so
 * that a request in progress at the deletion leaves nothing behind. Uses index workspace_deleted.
 */
export const removeEmptyWorkspacesAcrossWorkspaces = async (db: Db): Promise<WorkspaceId[]> =>
  (
    await rows<{ id: WorkspaceId }>(
      db,
      sql`
        delete from workspace w
        where w.deleted_at < moment() - interval '1 minute'
          and not exists (select from lane where workspace_id = w.id)
          and not exists (select from job where workspace_id = w.id)
          and not exists (select from job_history where workspace_id = w.id)
          and not exists (select from idempotency_key where workspace_id = w.id)
          and not exists (select from batch_key where workspace_id = w.id)
          and not exists (select from tally where workspace_id = w.id)
          and not exists (select from audit_event where workspace_id = w.id)
          and not exists (select from usage_delta where workspace_id = w.id)
          and not exists (select from usage_day where workspace_id = w.id)
        returning id`,
    )
  ).map(({ id }) => id);
