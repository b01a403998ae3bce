import { type Db, rows, type Statement, sql } from "../packages/server/src/kernel/index.ts";

/**
 * Runs a statement that inserts rows into `job`, and corrects what is kept of jobs. Benches insert jobs by SQL only through this: a test reads
 * their sources.
 */
export async function insertJobs(db: Db, statement: Statement): Promise<void> {
  await rows(db, statement);
  await correctCounts(db);
}

/** Corrects the counts of jobs and the groups of dead letters, after jobs were inserted or deleted past the statements that keep them. */
export async function correctCounts(db: Db): Promise<void> {
  await rows(db, sql`select recount_jobs(null)`);
  await rows(
    db,
    sql`
      update job set fingerprint = (failure_of_error(queue_host(workspace_id, lane_id), last_error)).fingerprint
      where state = 'failed' and fingerprint is null`,
  );
  await rows(db, sql`truncate dead_letter_group, dead_letter_hour, dead_letter_delta`);
  await rows(
    db,
    sql`
      insert into dead_letter_group (workspace_id, fingerprint, code, status, host, message, jobs, lanes, first_seen_at, last_seen_at)
      select j.workspace_id, j.fingerprint, f.code, f.status, f.host, coalesce(f.message, ''), j.jobs, j.lanes, j.first_at, j.last_at
      from (
        select workspace_id, fingerprint, count(*) as jobs, (array_agg(distinct lane_id))[:20] as lanes, min(finished_at) as first_at,
          max(finished_at) as last_at, max(lane_id) as lane_id, max(last_error) as error
        from job where state = 'failed' group by workspace_id, fingerprint
      ) j cross join lateral failure_of_error(queue_host(j.workspace_id, j.lane_id), j.error) f`,
  );
  await rows(
    db,
    sql`
      insert into dead_letter_hour (workspace_id, fingerprint, hour, failed)
      select workspace_id, fingerprint, date_trunc('hour', finished_at), count(*) from job
      where state = 'failed' and finished_at > now() - interval '1 day' group by 1, 2, 3`,
  );
}
