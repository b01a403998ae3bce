import { type Db, fragment, row, rows, sql, type Timestamp, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";
import { FORMER_HOURS } from "./former.ts";
import type { Secret } from "./secret.ts";

/** A secret as it is stored. */
export type StoredSecret = SealedSecret & Pick<Secret, "value_hint">;

/** The former values of a secret, as they are stored. */
export interface StoredFormer {
  readonly former: Buffer | null;
  /** Values that were replaced at this time or earlier may be missing. Null: none is missing. */
  readonly former_since: Timestamp | null;
}

/** A secret that is being changed. */
export type LockedSecret = StoredSecret & StoredFormer & { readonly now: Timestamp };

/**
 * The id of the vault's current master key; null when the workspace is gone. Neither the key nor the workspace changes until the
 * transaction ends.
 */
export const lockVault = (db: Db, workspaceId: WorkspaceId): Promise<{ master_key_id: string } | null> =>
  row(
    db,
    sql`
      select master_key_id from vault, workspace w where w.id = ${workspaceId} and w.deleted_at is null
      for share of vault, w`,
  );

/** Null when the workspace has a secret of that name. Uses index secret_name. */
export const insertSecret = (
  db: Db,
  { workspace_id, id, name, value_hint, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts }: StoredSecret,
): Promise<Secret | null> =>
  row(
    db,
    sql`
      insert into secret (workspace_id, id, name, value_hint, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts)
      values (${workspace_id}, ${id}, ${name}, ${value_hint}, ${ciphertext}, ${wrapped_key}, ${master_key_id},
        ${allowed_queues && textArray(allowed_queues)}::text[], ${allowed_hosts && textArray(allowed_hosts)}::text[])
      on conflict (workspace_id, name) do nothing
      returning workspace_id, id, name, value_hint, allowed_queues, allowed_hosts, created_at, updated_at`,
  );

/** Whether the last change of a secret was by a node of an earlier version, which may have replaced a value without keeping it. */
const KEPT_NOTHING = fragment`secret.updated_at <> coalesce(secret.former_as_of, secret.created_at)`;
/** The columns of `StoredFormer`, of `secret`. */
export const FORMER = fragment`case when ${KEPT_NOTHING} then null else secret.former end`;
export const FORMER_SINCE = fragment`case when ${KEPT_NOTHING} then secret.updated_at else secret.former_since end`;

/** Locks the secret until the transaction ends. Uses index secret_name. */
export const lockSecret = (db: Db, workspaceId: WorkspaceId, name: string): Promise<LockedSecret | null> =>
  row(
    db,
    sql`
      select workspace_id, id, name, value_hint, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts,
        ${FORMER} as former, ${FORMER_SINCE} as former_since, moment() as now from secret
      where workspace_id = ${workspaceId} and name = ${name} for update`,
  );

/** Uses the primary key. */
export const updateSecret = (
  db: Db,
  {
    workspace_id,
    id,
    value_hint,
    ciphertext,
    wrapped_key,
    master_key_id,
    allowed_queues,
    allowed_hosts,
    former,
    former_since,
  }: StoredSecret & StoredFormer,
  formerUntil: Timestamp | null,
): Promise<Secret | null> =>
  row(
    db,
    sql`
      update secret set
        value_hint = ${value_hint}, ciphertext = ${ciphertext}, wrapped_key = ${wrapped_key}, master_key_id = ${master_key_id},
        allowed_queues = ${allowed_queues && textArray(allowed_queues)}::text[],
        allowed_hosts = ${allowed_hosts && textArray(allowed_hosts)}::text[], updated_at = moment(),
        former = ${former}, former_until = ${formerUntil}, former_since = ${former_since}, former_as_of = moment()
      where workspace_id = ${workspace_id} and id = ${id}
      returning workspace_id, id, name, value_hint, allowed_queues, allowed_hosts, created_at, updated_at`,
  );

/** Newest first, older than `before`. Uses the primary key. */
export const listSecrets = (db: Db, workspaceId: WorkspaceId, before: Uuid | null, limit: number): Promise<Secret[]> =>
  rows(
    db,
    sql`
      select workspace_id, id, name, value_hint, allowed_queues, allowed_hosts, created_at, updated_at from secret
      where workspace_id = ${workspaceId} and (${before}::uuid is null or id < ${before})
      order by id desc limit ${limit}`,
  );

/** The names next to a name in alphabetical order: at most `limit` before and after it. Uses index secret_name. */
export const listNamesAround = (db: Db, workspaceId: WorkspaceId, name: string, limit: number): Promise<{ name: string }[]> =>
  rows(
    db,
    sql`
      (select name from secret where workspace_id = ${workspaceId} and name >= ${name} order by name limit ${limit})
      union all
      (select name from secret where workspace_id = ${workspaceId} and name < ${name} order by name desc limit ${limit})`,
  );

/** Uses index secret_name. */
export const removeSecret = (db: Db, workspaceId: WorkspaceId, name: string): Promise<{ id: Uuid } | null> =>
  row(db, sql`delete from secret where workspace_id = ${workspaceId} and name = ${name} returning id`);

/** Removes former values whose time is over. Values of locked secrets are removed by the next call. Uses index secret_former_until. */
export const deleteFormerAcrossWorkspaces = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      with over as (select workspace_id, id from secret where former_until <= moment() for update skip locked)
      update secret s set former = null, former_until = null, former_since = former_until - ${FORMER_HOURS} * interval '1 hour'
      from over o where s.workspace_id = o.workspace_id and s.id = o.id`,
  );

/** Deletes all secrets, with their data keys, of a workspace that is being deleted. Uses the primary key. */
export const removeSecrets = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(db, sql`delete from secret where workspace_id = ${workspaceId}`);
