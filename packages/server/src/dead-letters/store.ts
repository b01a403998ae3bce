import type { JobRow } from "#jobs";
import { type Db, type JobId, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

/** The database's current time. */
export const readMoment = async (db: Db): Promise<Timestamp> => {
  const found = await row<{ at: string }>(db, sql`select moment()::text as at`);
  if (!found) throw new Error("The time query returned no row.");
  return found.at;
};

/** Failed jobs of the workspace with the name of their queue: newest first, with ids below `before`. Uses index job_failed. */
export const listFailed = (
  db: Db,
  workspaceId: WorkspaceId,
  {
    queues,
    tags,
    errors,
    before,
    limit,
  }: { queues: string[] | null; tags: string[] | null; errors: string[] | null; before: JobId | null; limit: number },
): Promise<(JobRow & { queue: string })[]> =>
  rows(
    db,
    sql`
      select j.*, null as result, l.name as queue
      from job j join lane l on l.workspace_id = j.workspace_id and l.id = j.lane_id and l.deleted_at is null
      where j.workspace_id = ${workspaceId} and j.state = 'failed' and (${before}::uuid is null or j.id < ${before})
        and (${queues}::text[] is null or l.name = any(${queues})) and (${tags}::text[] is null or j.tag = any(${tags}))
        and (${errors}::text[] is null or j.error_code = any(${errors}))
      order by j.id desc limit ${limit}`,
  );
