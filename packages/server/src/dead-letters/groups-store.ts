import type { AttemptError } from "@tidemill/contract";
import { type Db, type JobId, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

/** The number of hours for which the trend is kept. */
const TREND_HOURS = 24;
/** The maximum number of rows in one statement. */
const CHUNK = 10_000;
/** With this lock, nodes fold one after the other: they add to the same rows. */
export const FOLD_LOCK = 7305512015;

/**
 * Moves rows of `dead_letter_delta` into the groups and their hours. One statement does this, so counts never change. One node at a time
 * does it; the others leave it to that node. Groups of workspaces that are gone are dropped.
 *
 * A job that joins a known group does not store how it failed. So that is read from one of the group's jobs in three cases: the group was
 * swept in the meantime, it is empty and may be swept while this statement runs, or it began with a job that has left it. Until then the
 * group's code is UNKNOWN.
 * Uses index job_fingerprint.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const foldGroupsAcrossWorkspaces = async (db: Db): Promise<number | undefined> => ((await foldSome(db)) === CHUNK ? 0 : undefined);

const foldSome = async (db: Db): Promise<number> =>
  (
    await row<{ folded: number }>(
      db,
      sql`
        with turn as materialized (
          select pg_try_advisory_xact_lock(${FOLD_LOCK}) as ours
        ), gone as (
          delete from dead_letter_delta where ctid = any(array(
            select ctid from dead_letter_delta where (select ours from turn) limit ${CHUNK} for update skip locked))
          returning *
        ), kept as (
          select gone.* from gone where exists (select from workspace w where w.id = gone.workspace_id)
        ), summed as (
          select workspace_id, fingerprint, sum(jobs) as jobs, coalesce(min(at) filter (where jobs > 0), max(at)) as first_at,
            coalesce(max(at) filter (where jobs > 0), max(at)) as last_at, coalesce((array_agg(distinct lane_id) filter (where jobs > 0))[:20], '{}') as lanes,
            (array_agg(host) filter (where error is not null))[1] as host, (array_agg(error) filter (where error is not null))[1] as error
          from kept group by workspace_id, fingerprint
        ), described as (
          select s.workspace_id, s.fingerprint, s.jobs, s.first_at, s.last_at, s.lanes, coalesce(s.error, j.error) as error, coalesce(s.host, j.host) as host
          from summed s left join lateral (
            select last_error as error, queue_host(workspace_id, lane_id) as host from job
            where s.error is null and coalesce(workspace_id, id) = s.workspace_id and fingerprint = s.fingerprint and state = 'failed' and not exists (
              select from dead_letter_group g where g.workspace_id = s.workspace_id and g.fingerprint = s.fingerprint and g.code <> 'UNKNOWN' and g.jobs > 0)
            order by id desc limit 1) j on true
        ), hours as (
          insert into dead_letter_hour (workspace_id, fingerprint, hour, failed)
          select workspace_id, fingerprint, date_trunc('hour', at), sum(jobs) from kept where jobs > 0
          group by 1, 2, 3 order by 1, 2, 3
          on conflict (workspace_id, fingerprint, hour) do update set failed = dead_letter_hour.failed + excluded.failed
        ), folded as (
          insert into dead_letter_group (workspace_id, fingerprint, code, status, host, message, jobs, lanes, first_seen_at, last_seen_at)
          select s.workspace_id, s.fingerprint, d.code, d.status, d.host, coalesce(d.message, ''), s.jobs, s.lanes, s.first_at, s.last_at
          from described s cross join lateral failure_of_error(s.host, s.error) f
          cross join lateral (select (case when f.fingerprint = s.fingerprint then f else failure_of_rest(f.code) end).*) d
          order by s.workspace_id, s.fingerprint
          on conflict (workspace_id, fingerprint) do update set
            jobs = dead_letter_group.jobs + excluded.jobs,
            (code, status, host, message) = (
              select one.code, one.status, one.host, one.message
              from (values (false, dead_letter_group.code, dead_letter_group.status, dead_letter_group.host, dead_letter_group.message),
                (true, excluded.code, excluded.status, excluded.host, excluded.message)) one (is_new, code, status, host, message)
              where is_new = (dead_letter_group.code = 'UNKNOWN')),
            lanes = case when excluded.lanes <@ dead_letter_group.lanes then dead_letter_group.lanes
              else array(select distinct unnest(dead_letter_group.lanes || excluded.lanes) limit 20) end,
            first_seen_at = case when dead_letter_group.jobs <= 0 then excluded.first_seen_at else dead_letter_group.first_seen_at end,
            last_seen_at = case when cardinality(excluded.lanes) > 0 then greatest(dead_letter_group.last_seen_at, excluded.last_seen_at)
              else dead_letter_group.last_seen_at end
        )
        select count(*) as folded from gone`,
    )
  )?.folded ?? 0;

/** Deletes groups without jobs, and hours that no trend shows any more. Uses indexes dead_letter_group_empty and dead_letter_hour_age. */
export async function sweepGroupsAcrossWorkspaces(db: Db): Promise<void> {
  await rows(db, sql`delete from dead_letter_group where jobs <= 0 and last_seen_at < moment() - ${TREND_HOURS} * interval '1 hour'`);
  await rows(db, sql`delete from dead_letter_hour where hour < moment() - ${TREND_HOURS + 1} * interval '1 hour'`);
}

export interface GroupRow {
  readonly fingerprint: string;
  readonly code: AttemptError;
  readonly status: number | null;
  readonly host: string | null;
  readonly message: string;
  readonly jobs: number;
  readonly queues: readonly string[];
  readonly first_seen_at: Timestamp;
  readonly last_seen_at: Timestamp;
  /** Microseconds since 1970. */
  readonly last_seen_us: number;
  readonly sample: JobId | null;
  readonly sample_queue: string | null;
  readonly trend: readonly number[];
}

/** A page of groups: those after `lastSeenUs` and `fingerprint`, the ones that failed last first. */
export interface GroupsPage {
  readonly workspaceId: WorkspaceId;
  readonly after: { readonly lastSeenUs: number; readonly fingerprint: string } | null;
  readonly limit: number;
}

/**
 * Groups of dead letters, including what is not folded yet. A workspace has about a thousand groups. The newest job of each is looked up by
 * index job_fingerprint.
 */
export const listGroups = (db: Db, { workspaceId, after, limit }: GroupsPage): Promise<GroupRow[]> =>
  rows(
    db,
    sql`
      with pending as (
        select fingerprint, sum(jobs) as jobs, min(at) filter (where jobs > 0) as first_at, max(at) filter (where jobs > 0) as last_at,
          coalesce((array_agg(distinct lane_id) filter (where jobs > 0))[:20], '{}') as lanes,
          (array_agg(host) filter (where error is not null))[1] as host, (array_agg(error) filter (where error is not null))[1] as error
        from dead_letter_delta where workspace_id = ${workspaceId} group by fingerprint
      ), known as (
        select g.fingerprint, g.code, g.status, g.host, g.message, g.jobs + coalesce(p.jobs, 0) as jobs, g.lanes || coalesce(p.lanes, '{}') as lanes,
          case when g.jobs <= 0 then coalesce(p.first_at, g.first_seen_at) else g.first_seen_at end as first_seen_at,
          greatest(g.last_seen_at, p.last_at) as last_seen_at
        from dead_letter_group g left join pending p on p.fingerprint = g.fingerprint where g.workspace_id = ${workspaceId}
        union all
        select p.fingerprint, d.code, d.status, d.host, coalesce(d.message, ''), p.jobs, p.lanes, p.first_at, p.last_at
        from pending p cross join lateral failure_of_error(p.host, p.error) f
        cross join lateral (select (case when f.fingerprint = p.fingerprint then f else failure_of_rest(f.code) end).*) d
        left join lateral (
          select true as yes from dead_letter_group g where g.workspace_id = ${workspaceId} and g.fingerprint = p.fingerprint limit 1) known on true
        where p.error is not null and known.yes is null
      ), page as (
        select *, (extract(epoch from last_seen_at) * 1000000)::bigint as last_seen_us from known
        where jobs > 0
          and (${after?.fingerprint ?? null}::text is null
            or ((extract(epoch from last_seen_at) * 1000000)::bigint, fingerprint) < (${after?.lastSeenUs ?? 0}::bigint, ${after?.fingerprint ?? ""}::text))
        order by last_seen_at desc, fingerprint desc limit ${limit}
      )
      select page.*, sample.id as sample, sample.queue as sample_queue,
        array(select l.name from lane l where l.workspace_id = ${workspaceId} and l.id = any(page.lanes) and l.deleted_at is null order by l.name)
          as queues,
        array(
          select coalesce(h.failed, 0)::int + (
            select coalesce(sum(d.jobs), 0)::int from dead_letter_delta d where d.workspace_id = ${workspaceId} and d.fingerprint = page.fingerprint and d.jobs > 0
              and d.at >= s.hour and d.at < s.hour + interval '1 hour')
          from generate_series(date_trunc('hour', moment()) - ${TREND_HOURS - 1} * interval '1 hour', date_trunc('hour', moment()), interval '1 hour') s (hour)
          left join dead_letter_hour h on h.workspace_id = ${workspaceId} and h.fingerprint = page.fingerprint and h.hour = s.hour
          order by s.hour) as trend
      from page left join lateral (
        select j.id, l.name as queue from (
          select lane_id, id from job
          where coalesce(workspace_id, id) = ${workspaceId} and fingerprint = page.fingerprint and state = 'failed'
          order by id desc limit 10) j
        cross join lateral (
          select name from lane where lane.workspace_id = ${workspaceId} and lane.id = j.lane_id and coalesce(deleted_at, 'infinity') = 'infinity' offset 0) l
        order by j.id desc limit 1) sample on true
      order by page.last_seen_at desc, page.fingerprint desc`,
  );
