import { type Db, fragment, plainArray, row, rows, sql, type Uuid, type WorkspaceId } from "#kernel";

/** A place in a chain. Times are texts with microseconds, `infinity` or `-infinity`. The texts sort as the times do. */
interface ChainedHash {
  readonly seq: number;
  readonly hash: Buffer;
  readonly expires_at: string;
}

/** The last event of a chain. */
export interface ChainHead extends ChainedHash {
  /** When the workspace was created. Null when it does not exist. */
  readonly created_at: string | null;
  /** How long the events of an existing workspace are kept now. Null: forever. */
  readonly retention_days: number | null;
}

/** An event with everything that its hash covers. */
export interface ChainedEvent extends ChainedHash {
  readonly id: Uuid;
  readonly event_type: string;
  readonly occurred_at: string;
  readonly actor_id: string;
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly previous: Buffer;
  readonly previous_expires_at: string;
}

/** Consecutive events of a chain that retention dropped. The first followed `previous`, the last had `hash`. */
export interface DroppedStretch {
  readonly from_seq: number;
  readonly to_seq: number;
  readonly previous: Buffer;
  readonly hash: Buffer;
  /** Never in the future, whatever was recorded. */
  readonly dropped_at: string;
}

/** A time in the hashed text of an event. */
const FORMAT = fragment`'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;
const EXPIRES_AT = fragment`
  case when isfinite(expires_at) then to_char(expires_at at time zone 'UTC', ${FORMAT}) else expires_at::text end as expires_at`;
const PREVIOUS_EXPIRES_AT = fragment`
  case when isfinite(previous_expires_at) then to_char(previous_expires_at at time zone 'UTC', ${FORMAT})
    else previous_expires_at::text end as previous_expires_at`;

/** The hash of an event, and the columns that it covers in addition to those that every list of events shows. */
export const CHAIN_COLUMNS = fragment`
  to_char(occurred_at at time zone 'UTC', ${FORMAT}) as occurred_us, previous, ${PREVIOUS_EXPIRES_AT}, hash,
  case when isfinite(expires_at) then to_char(expires_at at time zone 'UTC', ${FORMAT}) else expires_at::text end as expires_us`;

/** Lists all workspaces that exist or have a chain, or only the given one of them. */
export const listChainsAcrossWorkspaces = (db: Db, only: WorkspaceId | null): Promise<{ id: WorkspaceId }[]> =>
  rows(
    db,
    sql`
      select id from (select id from workspace union select workspace_id from audit_chain) chain
      where ${only}::uuid is null or id = ${only} order by id`,
  );

/**
 * Makes the transaction see the log as it is now, whatever is appended or dropped later. It must be the first call in the
 * transaction: a snapshot from before the lock could miss the record of a drop.
 */
export async function freezeAuditLog(tx: Db): Promise<void> {
  await rows(tx, sql`set transaction isolation level repeatable read, read only`);
  await rows(tx, sql`lock table audit_event in access share mode`);
}

export const findHead = (db: Db, workspaceId: WorkspaceId): Promise<ChainHead | null> =>
  row(
    db,
    sql`
      select seq, hash, ${EXPIRES_AT}, to_char(created_at at time zone 'UTC', ${FORMAT}) as created_at, retention_days
      from audit_chain left join workspace on id = workspace_id where workspace_id = ${workspaceId}`,
  );

export const listDropped = (db: Db, workspaceId: WorkspaceId): Promise<DroppedStretch[]> =>
  rows(
    db,
    sql`
      select from_seq, to_seq, previous, hash, to_char(least(dropped_at, moment()) at time zone 'UTC', ${FORMAT}) as dropped_at
      from audit_dropped where workspace_id = ${workspaceId} order by from_seq`,
  );

/** Lists the events after `after`, in the order of the chain. Uses the primary key. */
export const listChained = (
  db: Db,
  workspaceId: WorkspaceId,
  after: { readonly seq: number; readonly expires_at: string },
  limit: number,
): Promise<ChainedEvent[]> =>
  rows(
    db,
    sql`
      select seq, id, event_type, to_char(occurred_at at time zone 'UTC', ${FORMAT}) as occurred_at, actor_id, resource_type,
        resource_id, input, output, previous, ${PREVIOUS_EXPIRES_AT}, hash, ${EXPIRES_AT}
      from audit_event e
      where workspace_id = ${workspaceId} and (seq, e.expires_at) > (${after.seq}::bigint, ${after.expires_at}::timestamptz)
      order by seq, e.expires_at limit ${limit}`,
  );

/** Removes the heads and the recorded drops of the chains of deleted workspaces. Uses the primary keys. */
export const removeChains = (tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with gone as (
        delete from audit_chain where workspace_id = any(${plainArray(workspaceIds)}::uuid[])
      )
      delete from audit_dropped where workspace_id = any(${plainArray(workspaceIds)}::uuid[])`,
  );
