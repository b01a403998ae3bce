import type { JobFilter, OperationAction, OperationState } from "@tidemill/contract";
import { type Db, fragment, type JobId, type OperationId, plainArray, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** An operation, without the jobs that it works on. */
export interface OperationRow {
  readonly workspace_id: WorkspaceId;
  readonly id: OperationId;
  readonly action: OperationAction;
  readonly state: OperationState;
  readonly filter: JobFilter | null;
  /** How many jobs were named by their ids. Null: it has a filter. */
  readonly ids: number | null;
  readonly actor_id: string;
  readonly matched: number;
  readonly matched_exact: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly created_at: Timestamp;
  readonly finished_at: Timestamp | null;
}

/** An operation that is running, and where it is. */
export interface RunningOperation extends OperationRow {
  /** The moment of its request, exactly. */
  readonly until: Timestamp;
  /** The jobs that were picked and are not changed yet: their lanes and ids. */
  readonly lanes: readonly LaneId[];
  readonly jobs: readonly JobId[];
  /** The next jobs have ids below this one. Null: all were picked. */
  readonly before_id: JobId | null;
}

export interface OperationKey {
  readonly workspaceId: WorkspaceId;
  readonly id: OperationId;
}

const SHOWN = fragment`o.workspace_id, o.id, o.action, o.state, o.filter::json as filter, o.ids, o.actor_id, o.matched, o.matched_exact, o.done,
  o.skipped, o.created_at, o.finished_at`;
const RUNNING = fragment`${SHOWN}, o.created_at::text as until, o.portion_lanes as lanes, o.portion as jobs, o.before_id`;

export const insertOperation = async (
  tx: Db,
  { workspaceId, id }: OperationKey,
  operation: Pick<OperationRow, "action" | "filter" | "ids" | "matched" | "matched_exact"> & {
    readonly actorId: string;
    readonly before: JobId | null;
    readonly portion: readonly { readonly laneId: LaneId; readonly id: JobId }[];
  },
): Promise<OperationRow> => {
  const { action, filter, ids, actorId, matched, matched_exact, before, portion } = operation;
  const inserted = await row<OperationRow>(
    tx,
    sql`
      insert into operation as o (workspace_id, id, action, state, filter, ids, actor_id, matched, matched_exact, portion_lanes, portion, before_id,
        turn_at, created_at)
      values (${workspaceId}, ${id}, ${action}, 'running', ${filter && JSON.stringify(filter)}, ${ids}, ${actorId}, ${matched}, ${matched_exact},
        ${plainArray(portion.map((job) => job.laneId))}::bigint[], ${plainArray(portion.map((job) => job.id))}::uuid[], ${before}, moment(), moment())
      returning ${SHOWN}`,
  );
  if (!inserted) throw new Error("The insert of an operation returned no row.");
  return inserted;
};

/** How many operations of the workspace are running. Uses index operation_running. */
export const countRunning = async (db: Db, workspaceId: WorkspaceId): Promise<number> =>
  (
    await row<{ running: number }>(
      db,
      sql`select count(*) as running from operation where workspace_id = ${workspaceId} and state = 'running'`,
    )
  )?.running ?? 0;

/** Uses the primary key. */
export const findOperation = (db: Db, { workspaceId, id }: OperationKey): Promise<OperationRow | null> =>
  row(db, sql`select ${SHOWN} from operation o where workspace_id = ${workspaceId} and id = ${id}`);

/** Operations with ids below `before`, newest first. Uses the primary key. */
export const listOperations = (db: Db, workspaceId: WorkspaceId, before: OperationId | null, limit: number): Promise<OperationRow[]> =>
  rows(
    db,
    sql`
      select ${SHOWN} from operation o
      where workspace_id = ${workspaceId} and id < coalesce(${before}, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      order by id desc limit ${limit}`,
  );

/**
 * Takes the turn of the running operation that has waited longest, unless another node has locked it, and puts it after the others: an
 * operation that cannot be executed does not delay them. Uses index operation_turn.
 */
export const takeTurnAcrossWorkspaces = (db: Db): Promise<OperationKey | null> =>
  row(
    db,
    sql`
      update operation set turn_at = moment()
      where (workspace_id, id) = (
        select workspace_id, id from operation o
        where state = 'running' and turn_at <= moment()
        order by turn_at limit 1 for update of o skip locked)
      returning workspace_id as "workspaceId", id`,
  );

/** Locks an operation that is still running. Uses the primary key. */
export const lockRunning = (tx: Db, { workspaceId, id }: OperationKey): Promise<RunningOperation | null> =>
  row(tx, sql`select ${RUNNING} from operation o where workspace_id = ${workspaceId} and id = ${id} and state = 'running' for update`);

/** Stores the next portion of an operation. Uses the primary key. */
export const storePortion = (
  tx: Db,
  { workspaceId, id }: OperationKey,
  portion: readonly { readonly laneId: LaneId; readonly id: JobId }[],
  before: JobId | null,
): Promise<unknown> =>
  rows(
    tx,
    sql`
      update operation set portion_lanes = ${plainArray(portion.map((job) => job.laneId))}::bigint[],
        portion = ${plainArray(portion.map((job) => job.id))}::uuid[], before_id = ${before}
      where workspace_id = ${workspaceId} and id = ${id}`,
  );

/** Stores which jobs of the portion are left, and how many were changed or skipped. Uses the primary key. */
export const storeProgress = (
  tx: Db,
  { workspaceId, id }: OperationKey,
  left: readonly { readonly laneId: LaneId; readonly id: JobId }[],
  { done, skipped }: { done: number; skipped: number },
): Promise<unknown> =>
  rows(
    tx,
    sql`
      update operation set portion_lanes = ${plainArray(left.map((job) => job.laneId))}::bigint[],
        portion = ${plainArray(left.map((job) => job.id))}::uuid[], done = done + ${done}, skipped = skipped + ${skipped}
      where workspace_id = ${workspaceId} and id = ${id}`,
  );

/** Ends an operation that is running. Uses the primary key. */
export const endOperation = (
  tx: Db,
  { workspaceId, id }: OperationKey,
  state: Exclude<OperationState, "running">,
): Promise<OperationRow | null> =>
  row(
    tx,
    sql`
      update operation o set state = ${state}, turn_at = null, portion_lanes = '{}', portion = '{}', finished_at = moment()
      where workspace_id = ${workspaceId} and id = ${id} and state = 'running' returning ${SHOWN}`,
  );

/** Uses the primary key. */
export const removeOperations = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(db, sql`delete from operation where workspace_id = ${workspaceId}`);

/** Deletes operations that ended more than 30 days ago. Uses index operation_finished. */
export const deleteOldAcrossWorkspaces = (db: Db): Promise<unknown> =>
  rows(db, sql`delete from operation where state <> 'running' and finished_at < moment() - interval '30 days'`);
