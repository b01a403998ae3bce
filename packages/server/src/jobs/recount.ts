import { type Db, type EmitEvent, row, rows, sql, type Transactional, type WorkspaceId } from "#kernel";

/**
 * Compares the number of jobs that is kept with the jobs, workspace by workspace, and corrects it. It is wrong only after nodes of a version
 * before migration 0023 ran beside newer ones, or after a change of jobs by hand.
 *
 * @param from the first workspace
 * @returns the workspace to go on with, because another node counts; null: all were counted
 */
export async function recountJobsAcrossWorkspaces(
  db: Transactional,
  emit: EmitEvent,
  from: WorkspaceId | null = null,
): Promise<WorkspaceId | null> {
  let lanes = 0;
  let next: WorkspaceId | null = null;
  for (const { id } of await findWorkspaces(db, from)) {
    const corrected = await db.transaction((tx) => recount(tx, id));
    if (corrected === null) {
      next = id;
      break;
    }
    lanes += corrected;
  }
  if (lanes > 0) emit("counts_corrected", { lanes });
  return next;
}

const findWorkspaces = (db: Db, from: WorkspaceId | null): Promise<{ id: WorkspaceId }[]> =>
  rows(db, sql`select id from workspace where deleted_at is null and id >= coalesce(${from}::uuid, id) order by id`);

/** A count of millions of jobs takes longer than other statements may. Milliseconds. */
const TIMEOUT_MS = 300_000;

/** Returns how many lanes were wrong. Null: another node counts. The function takes the same lock, and would wait for it. */
async function recount(tx: Db, workspaceId: WorkspaceId): Promise<number | null> {
  const lock = await row<{ mine: boolean }>(tx, sql`select pg_try_advisory_xact_lock(7305512014) as mine`);
  if (!lock?.mine) return null;
  await rows(tx, sql`select set_config('statement_timeout', ${String(TIMEOUT_MS)}, true)`);
  // The driver gives up by itself, too. The server would go on, beside the next try.
  const statement = { ...sql`select recount_jobs(${workspaceId}::uuid) as lanes`, query_timeout: TIMEOUT_MS + 5_000 };
  return (await row<{ lanes: number }>(tx, statement))?.lanes ?? 0;
}
