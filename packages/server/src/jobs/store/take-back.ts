import type { JobState } from "@tidemill/contract";
import { type Db, fragment, type JobId, plainArray, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { Claim } from "../claim.ts";
import { ANNOUNCE_FAILED, EVENT_IF_FAILED } from "./announce.ts";
import { COUNT_DEAD_LETTERS, COUNT_TAKEN_BACK } from "./counts.ts";
import { ASSIGN_SLOTS_OF_MOVED, CLAIMED_COLUMNS, ENDED_LEASE, movableOf } from "./fragments.ts";

/** Which claims of nodes to take back, and how to log them. */
export interface TakingBack {
  /** The lease of a node that releases its claims. Null: all expired leases of nodes. */
  readonly leaseId: number | null;
  /** The outcome of the attempts in their log. Only `lost` counts as a node loss. */
  readonly outcome: "lost" | "released";
  /** `last_error` as JSON text. Null: unchanged. */
  readonly error: string | null;
  /** A job with this many node losses in a row goes to the dead-letter queue. */
  readonly maxLosses: number;
  /** Jobs of other kinds than these are skipped at `maxLosses`: `endExpiredClaimsAcrossWorkspaces` finds them. */
  readonly plainKinds: readonly string[];
  /** Jobs of these kinds are skipped. */
  readonly onceKinds: readonly string[];
  /**
   * The only lane whose claims are taken back. The statement waits for the concurrency keys of its jobs. Null: claims of all lanes, except
   * those whose keys other transactions have locked.
   */
  readonly lane: LaneKey | null;
  /** Claims of these lanes are left out. */
  readonly without?: readonly LaneId[];
  readonly limit: number;
}

const MOVABLE_HELD = movableOf(fragment`held`, fragment`(select waits from asked)`);

/** Jobs of a lane that were taken back, or left because of their keys. */
interface TakenBack {
  readonly workspace_id: WorkspaceId;
  readonly lane_id: LaneId;
  /** Null: they were left. */
  readonly state: JobState | null;
  readonly jobs: number;
}

/**
 * Takes back claims of nodes. Their attempts are logged and spared, since the handler is not at fault. Claims of workers stay: one that
 * expires uses an attempt, and is settled elsewhere. Uses index job_active.
 */
export const takeBackAcrossWorkspaces = (
  db: Db,
  { leaseId, outcome, error, maxLosses, plainKinds, onceKinds, lane, without = [], limit }: TakingBack,
): Promise<TakenBack[]> =>
  rows(
    db,
    sql`
      with asked as (
        select ${lane !== null}::boolean as waits
      ), held as (
        select workspace_id, lane_id, id, concurrency_key from job
        where state = 'active' and lease_id = any(
          select id from lease where holder = 'node' and (id = ${leaseId} or (${leaseId}::bigint is null and expires_at <= now())))
          and kind::text <> all(${textArray(onceKinds)})
          and not (${outcome === "lost"}::boolean and node_losses + 1 >= ${maxLosses} and kind::text <> all(${textArray(plainKinds)}))
          and (${lane === null}::boolean or workspace_id = ${lane?.workspaceId ?? null}::uuid and lane_id = ${lane?.laneId ?? null}::bigint)
          and lane_id <> all(${plainArray(without)}::bigint[])
        limit ${limit} for update skip locked
      ), ${MOVABLE_HELD}, moved as (
        update job j set
          state = case when ${outcome === "lost"}::boolean and node_losses + 1 >= ${maxLosses} then 'failed' else 'waiting' end::job_state,
          finished_at = case when ${outcome === "lost"}::boolean and node_losses + 1 >= ${maxLosses} then moment() end,
          fingerprint = case when ${outcome === "lost"}::boolean and node_losses + 1 >= ${maxLosses}
            then fingerprint_of(j.workspace_id, j.lane_id, coalesce(${error}, j.last_error)) else j.fingerprint end,
          lease_id = null, lease_until = null, lease_request = null, key_slot = null, spared = spared + 1, node_losses = node_losses + ${outcome === "lost" ? 1 : 0}::int,
          last_error = coalesce(${error}, last_error), error_code = coalesce(${error}::json ->> 'code', error_code),
          attempts_log = log_attempt(attempts_log, attempt, started_at, lease_id, ${outcome}, ${error})
        from movable held where j.workspace_id = any(array[held.workspace_id]) and j.lane_id = held.lane_id and j.id = held.id
        returning j.workspace_id, j.lane_id, j.state, j.concurrency_key, j.fingerprint, j.last_error, ${EVENT_IF_FAILED}
      ), tallied as (
        ${COUNT_TAKEN_BACK}
      )
      select workspace_id, lane_id, state, count(*) as jobs, ${ANNOUNCE_FAILED} as announced, ${COUNT_DEAD_LETTERS} as counted,
        ${ASSIGN_SLOTS_OF_MOVED} as assigned
      from moved group by workspace_id, lane_id, state
      union all
      (select workspace_id, lane_id, null, count(*), null, null, null from locked
        group by workspace_id, lane_id)`,
  );

/** A claim whose lease has expired. Whether its lane has limits is not known: it is assumed to have some. */
export interface ExpiredClaim {
  readonly claim: Claim;
  /** The name of the worker that held it; null for a node. */
  readonly worker: string | null;
}

/**
 * Claims of `kinds` to settle one by one because their lease has expired. These are all expired claims of workers, which can no longer be
 * extended; and claims of nodes whose job has a kind in `onceKinds`, or has had `maxLosses` node losses in a row and a kind that is not in
 * `plainKinds`. Only runs have payloads. Uses indexes job_lease_until and job_active.
 */
export const endExpiredClaimsAcrossWorkspaces = async (
  db: Db,
  {
    kinds,
    maxLosses,
    plainKinds,
    onceKinds,
    settling,
    withoutWorkspaces,
    limit,
  }: Pick<TakingBack, "maxLosses" | "plainKinds" | "onceKinds" | "limit"> & {
    readonly kinds: readonly string[];
    /** Jobs whose claims are being settled: they are left out. */
    readonly settling: readonly JobId[];
    /** Claims of these workspaces are left out. */
    readonly withoutWorkspaces: readonly WorkspaceId[];
  },
): Promise<ExpiredClaim[]> =>
  (
    await rows<Claim & Omit<ExpiredClaim, "claim">>(
      db,
      sql`
        with expired as (
          select workspace_id, lane_id, id from job
          where lease_until <= moment() and lease_until > ${ENDED_LEASE} and kind::text = any(${textArray(kinds)})
            and workspace_id <> all(${plainArray(withoutWorkspaces)}::uuid[])
          limit ${limit} for update skip locked
        ), ended as (
          update job j set lease_until = ${ENDED_LEASE} from expired e
          where j.workspace_id = any(array[e.workspace_id]) and j.lane_id = e.lane_id and j.id = e.id
          returning j.*
        )
        -- The payload of a run names the run that waits for it.
        select ${CLAIMED_COLUMNS}, case when job.kind = 'run' then job.payload else '' end as payload, 0 as revision, null::json as probe, true as limited, lease.worker
        from (
          select * from ended
          union all
          -- Claims that a node has found, but not settled yet.
          select * from job where lease_until <= ${ENDED_LEASE} and kind::text = any(${textArray(kinds)})
          union all
          select job.* from lease join job on job.lease_id = lease.id and job.state = 'active'
          where lease.holder = 'node' and lease.expires_at <= now() and job.kind::text = any(${textArray(kinds)})
            and (job.kind::text = any(${textArray(onceKinds)})
              or job.node_losses + 1 >= ${maxLosses} and job.kind::text <> all(${textArray(plainKinds)}))
        ) job join lease on lease.id = job.lease_id
        where job.workspace_id <> all(${plainArray(withoutWorkspaces)}::uuid[]) and job.id not in (select unnest(${plainArray(settling)}::uuid[]))
        limit ${limit}`,
    )
  ).map(({ worker, ...claim }) => ({ claim, worker }));
