import { type Db, plainArray, row, rows, sql } from "#kernel";
import type { Envelope, SecretIdentity } from "./envelope.ts";

/** Held by a node from before it looks whether its keys fit until it counts as alive; and by a rotation as it counts those. */
export const VAULT_LOCK = 7_305_512_012;

/** A secret without its value's ciphertext. */
export interface WrappedSecret extends SecretIdentity, Omit<Envelope, "ciphertext"> {}

export const holdVaultLock = (tx: Db): Promise<unknown> => rows(tx, sql`select pg_advisory_xact_lock(${VAULT_LOCK})`);

/** Which master key the vault is locked with; null before the first start. */
export const findVaultKey = async (db: Db): Promise<string | null> =>
  (await row<{ master_key_id: string }>(db, sql`select master_key_id from vault`))?.master_key_id ?? null;

/** Locks the vault with that key, once those who are about to use the one before have done so. */
export const changeVaultKey = (db: Db, id: string): Promise<unknown> =>
  rows(
    db,
    sql`insert into vault (master_key_id) values (${id}) on conflict (only_row) do update set master_key_id = excluded.master_key_id`,
  );

/** The master keys that secrets are wrapped by, with how many each. */
export const countByKeyAcrossWorkspaces = (db: Db): Promise<{ master_key_id: string; secrets: number }[]> =>
  rows(db, sql`select master_key_id, count(*) as secrets from secret group by master_key_id order by master_key_id`);

/** Whether a secret is wrapped by another key than that. Leans on secret_master_key. */
export const areOthersInUseAcrossWorkspaces = async (db: Db, id: string): Promise<boolean> =>
  (
    await row<{ found: boolean }>(
      db,
      sql`
        select exists (select from secret where master_key_id < ${id}) or exists (select from secret where master_key_id > ${id}) as found`,
    )
  )?.found ?? false;

/** Those that other keys than that wrap, from behind `after` on. Leans on the primary key. */
export const listToRewrapAcrossWorkspaces = (db: Db, id: string, after: SecretIdentity | null, most: number): Promise<WrappedSecret[]> =>
  rows(
    db,
    sql`
      select workspace_id, id, name, wrapped_key, master_key_id from secret
      where master_key_id <> ${id} and (workspace_id, id) > (coalesce(${after?.workspace_id}::uuid, '00000000-0000-0000-0000-000000000000'),
        coalesce(${after?.id}::uuid, '00000000-0000-0000-0000-000000000000'))
      order by workspace_id, id limit ${most}`,
  );

/**
 * Puts another wrapped key in the place of each that was read; one that was replaced meanwhile stays. Answers how many it was.
 * Leans on the primary key.
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
        update secret s set wrapped_key = r.after, master_key_id = ${masterKeyId}
        from unnest(${plainArray(renewed.map(({ secret }) => secret.workspace_id))}::uuid[],
          ${plainArray(renewed.map(({ secret }) => secret.id))}::uuid[],
          ${renewed.map(({ secret }) => secret.wrapped_key)}::bytea[], ${renewed.map(({ wrapped }) => wrapped)}::bytea[])
          r (workspace_id, id, before, after)
        where s.workspace_id = r.workspace_id and s.id = r.id and s.wrapped_key = r.before
        returning s.id`,
    )
  ).length;
