import { type Db, type EmitEvent, row, rows, sql, type Transactional, type WorkspaceId } from "#kernel";

/**
 * Compares the number of jobs that is kept with the jobs, workspace by workspace, and corrects it. It is wrong only after nodes of a version
 * before migration 0023 ran beside newer ones, or after a change of jobs by hand.
 */
export async function recountJobsAcrossWorkspaces(db: Transactional, emit: EmitEvent): Promise<void> {
  let lanes = 0;
  for (const { id } of await findWorkspaces(db)) lanes += await db.transaction((tx) => recount(tx, id));
  if (lanes > 0) emit("counts_corrected", { lanes });
}

const findWorkspaces = (db: Db): Promise<{ id: WorkspaceId }[]> =>
  rows(db, sql`select id from workspace where deleted_at is null order by id`);

/** A count of millions of jobs takes longer than other statements may. */
async function recount(tx: Db, workspaceId: WorkspaceId): Promise<number> {
  await rows(tx, sql`set local statement_timeout = '5min'`);
  return (await row<{ lanes: number }>(tx, sql`select recount_jobs(${workspaceId}::uuid) as lanes`))?.lanes ?? 0;
}
