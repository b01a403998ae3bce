import { type Db, row, sql } from "#kernel";

/** Rows of one statement. */
const CHUNK = 1_000;

/**
 * Forgets idempotency keys whose job's record is gone. Each key is looked at when its record may have expired, and again when the
 * record that is still there may have: once or twice in all, whatever the number of keys.
 */
export async function sweepKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await sweepChunkAcrossWorkspaces(db)) === CHUNK);
}

/**
 * A key is locked before it is judged: whoever takes it for another job makes another row. What somebody has locked is passed
 * over. Leans on idempotency_key_check and the primary keys.
 */
const sweepChunkAcrossWorkspaces = async (db: Db): Promise<number> =>
  (
    await row<{ looked_at: number }>(
      db,
      sql`
        with due as (
          select ctid, workspace_id, lane_id, job_id from idempotency_key
          where check_at <= moment() order by check_at limit ${CHUNK} for update skip locked
        ), found as (
          select d.ctid, l.id is not null as live, h.expires_at
          from due d
          left join lateral (
            select id from job where job.workspace_id = d.workspace_id and job.lane_id = d.lane_id and job.id = d.job_id offset 0
          ) l on true
          left join lateral (
            select max(expires_at) as expires_at from job_history h
            where h.workspace_id = d.workspace_id and h.lane_id = d.lane_id and h.id = d.job_id and h.expires_at > moment()
          ) h on true
        ), forgotten as (
          delete from idempotency_key where ctid = any(array(select ctid from found where not live and expires_at is null))
        ), kept as (
          update idempotency_key k set check_at = least(f.expires_at, moment() + interval '7 days')
          from found f where k.ctid = f.ctid and (f.live or f.expires_at is not null)
        )
        select count(*) as looked_at from due`,
    )
  )?.looked_at ?? 0;
