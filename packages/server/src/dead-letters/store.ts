import { LISTED_COLUMNS, type ListedJob, NEWEST } from "#jobs";
import { CUT_PAGE, type Db, fragment, type JobId, MAX_SCANNED_ROWS, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

/** The database's current time. */
export const readMoment = async (db: Db): Promise<Timestamp> => {
  const found = await row<{ at: string }>(db, sql`select moment()::text as at`);
  if (!found) throw new Error("The time query returned no row.");
  return found.at;
};

/** A page of the workspace's failed jobs: newest first, with ids below `before`. A null filter matches all jobs. */
export interface FailedPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly errors: readonly string[] | null;
  /** The group of the jobs. Not given or null: any. */
  readonly fingerprint?: string | null;
  readonly before: JobId | null;
  readonly limit: number;
  /** The maximum number of rows to read. */
  readonly maxScanned?: number;
}

/** The failed jobs that a scan reads, newest first. Its values are columns of CTE `requested`. */
const SCANS = {
  /** Index job_failed. */
  all: fragment`
    select * from job where workspace_id = (select workspace_id from requested) and state = 'failed' and id < (select before_id from requested)
    order by id desc limit (select scanned from requested)`,
  /** Index job_fingerprint. */
  group: fragment`
    select * from job where coalesce(workspace_id, id) = (select workspace_id from requested) and fingerprint = (select fingerprint from requested)
      and state = 'failed' and id < (select before_id from requested)
    order by id desc limit (select scanned from requested)`,
} as const;

/** Failed jobs of the workspace, or of one group, with the name of their queue. */
export const listFailed = (
  db: Db,
  { workspaceId, queues, tags, errors, fingerprint = null, before, limit, maxScanned = MAX_SCANNED_ROWS }: FailedPage,
): Promise<(ListedJob & { readonly queue: string })[]> => {
  const scan = fingerprint === null ? SCANS.all : SCANS.group;
  return rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records, ${workspaceId}::uuid as workspace_id, ${before ?? NEWEST}::uuid as before_id, ${maxScanned}::int as scanned,
          ${fingerprint}::text as fingerprint
      ), matched as (
        select ${LISTED_COLUMNS}, null::text as result, l.queue
        from (${scan}) j
        cross join lateral (
          select name as queue from lane
          where lane.workspace_id = j.workspace_id and lane.id = j.lane_id and coalesce(deleted_at, 'infinity') = 'infinity'
            and (${queues}::text[] is null or name = any(${queues}))
          offset 0) l
        where (${tags}::text[] is null or tag = any(${tags})) and (${errors}::text[] is null or error_code = any(${errors}))
        order by id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from (${scan}) scanned order by id desc offset ${maxScanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );
};
