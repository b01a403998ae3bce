import { type Db, rows, sql } from "#kernel";

/**
 * Lets the rows of deleted workspaces go once nothing is left of them: no queue, no job, no audit event, no usage. A queue made
 * while the workspace was being deleted is deleted first.
 */
export async function sweepDeletedWorkspacesAcrossWorkspaces(db: Db): Promise<void> {
  await deleteLateQueues(db);
  await deleteEmptied(db);
}

/** Leans on workspace_deleted. */
const deleteLateQueues = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      update queue q set deleted_at = moment(), revision = q.revision + 1 from workspace w
      where w.deleted_at is not null and q.workspace_id = w.id and q.deleted_at is null`,
  );

/** A row stays for a minute, so that a request that was under way when it was deleted leaves nothing behind. Leans on workspace_deleted. */
const deleteEmptied = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      with gone as (
        delete from workspace w
        where w.deleted_at < moment() - interval '1 minute'
          and not exists (select from queue where workspace_id = w.id)
          and not exists (select from job where workspace_id = w.id)
          and not exists (select from job_history where workspace_id = w.id)
          and not exists (select from idempotency_key where workspace_id = w.id)
          and not exists (select from tally where workspace_id = w.id)
          and not exists (select from audit_event where workspace_id = w.id)
          and not exists (select from usage_delta where workspace_id = w.id)
          and not exists (select from usage_day where workspace_id = w.id)
        returning id
      ), chains as (
        delete from audit_chain c using gone where c.workspace_id = gone.id
      )
      delete from audit_dropped d using gone where d.workspace_id = gone.id`,
  );
