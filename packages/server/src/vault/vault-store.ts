import { type Db, plainArray, row, rows, sql } from "#kernel";
import type { Envelope, SecretIdentity } from "./envelope.ts";

/**
 * Held by a node from before it checks its keys until it counts as alive, by a rotation while it counts nodes, and by every process
 * that creates or moves key files.
 */
export const VAULT_LOCK = 7_305_512_012;
/** Held by a rotation from start to end, so that rotations run one after the other. */
export const ROTATION_LOCK = 7_305_512_013;

/** A secret without its value's ciphertext. */
export interface WrappedSecret extends SecretIdentity, Omit<Envelope, "ciphertext"> {}

export const takeVaultLock = (tx: Db): Promise<unknown> => rows(tx, sql`select pg_advisory_xact_lock(${VAULT_LOCK})`);

/** The id of the vault's current master key; null before the first start. */
export const findVaultKey = async (db: Db): Promise<string | null> =>
  (await row<{ master_key_id: string }>(db, sql`select master_key_id from vault`))?.master_key_id ?? null;

/** Like `findVaultKey`, and until the transaction ends no node registers and no secret is written. */
export const lockVaultKey = async (tx: Db): Promise<string | null> =>
  (await row<{ master_key_id: string }>(tx, sql`select master_key_id from vault for update`))?.master_key_id ?? null;

/** Makes that key current, once the transactions that use the one before have ended. */
export const changeVaultKey = (db: Db, id: string): Promise<unknown> =>
  rows(
    db,
    sql`insert into vault (master_key_id) values (${id}) on conflict (only_row) do update set master_key_id = excluded.master_key_id`,
  );

/** The master keys that wrap secrets, and how many each. */
export const countByKeyAcrossWorkspaces = (db: Db): Promise<{ master_key_id: string; secrets: number }[]> =>
  rows(db, sql`select master_key_id, count(*) as secrets from secret group by master_key_id order by master_key_id`);

/** The master keys that wrap secrets, and keys of the service itself: one look-up for each. Uses index secret_master_key. */
export const listWrappingKeysAcrossWorkspaces = async (db: Db): Promise<string[]> =>
  (
    await rows<{ id: string }>(
      db,
      sql`
        with recursive wrapping as (
          select min(master_key_id) as id from secret
          union all
          select (select min(s.master_key_id) from secret s where s.master_key_id > w.id) from wrapping w where w.id is not null)
        select id from wrapping where id is not null
        union select master_key_id from own_key`,
    )
  ).map(({ id }) => id);

/**
 * Makes secrets and keys of the service that a lost master key wraps unreadable instead of waiting for that key: they count as wrapped by
 * `to`, which does not open them. Uses index secret_master_key.
 */
export async function giveUpSecretsAcrossWorkspaces(
  tx: Db,
  lost: string,
  to: string,
): Promise<Pick<SecretIdentity, "workspace_id" | "name">[]> {
  await rows(tx, sql`delete from own_key where master_key_id = ${lost}`);
  return rows(
    tx,
    sql`
      with given_up as (update secret set master_key_id = ${to} where master_key_id = ${lost} returning workspace_id, name)
      select workspace_id, name from given_up order by workspace_id, name`,
  );
}

/** The secrets that other keys than `id` wrap, following `after`. Uses the primary key. */
export const listToRewrapAcrossWorkspaces = (db: Db, id: string, after: SecretIdentity | null, limit: number): Promise<WrappedSecret[]> =>
  rows(
    db,
    sql`
      select workspace_id, id, name, wrapped_key, master_key_id from secret
      where master_key_id <> ${id} and (workspace_id, id) > (coalesce(${after?.workspace_id}::uuid, '00000000-0000-0000-0000-000000000000'),
        coalesce(${after?.id}::uuid, '00000000-0000-0000-0000-000000000000'))
      order by workspace_id, id limit ${limit}`,
  );

/**
 * Replaces the wrapped data keys. A key that has changed since it was read stays as it is. All stay when `masterKeyId` is not the vault's
 * current key. Uses the primary key.
 *
 * @returns how many were replaced
 */
export const rewrapAcrossWorkspaces = async (
  db: Db,
  masterKeyId: string,
  renewed: readonly { secret: WrappedSecret; wrapped: Buffer }[],
): Promise<number> =>
  (
    await rows(
      db,
      sql`
        with current as (select from vault where master_key_id = ${masterKeyId} for share)
        update secret s set wrapped_key = r.after, master_key_id = ${masterKeyId}
        from unnest(${plainArray(renewed.map(({ secret }) => secret.workspace_id))}::uuid[],
          ${plainArray(renewed.map(({ secret }) => secret.id))}::uuid[],
          ${renewed.map(({ secret }) => secret.wrapped_key)}::bytea[], ${renewed.map(({ wrapped }) => wrapped)}::bytea[])
          r (workspace_id, id, before, after)
        where s.workspace_id = r.workspace_id and s.id = r.id and s.wrapped_key = r.before and exists (select from current)
        returning s.id`,
    )
  ).length;
