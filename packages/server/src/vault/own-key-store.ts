import { type Db, row, rows, sql } from "#kernel";

export interface OwnKeyRow {
  readonly name: string;
  readonly wrapped_key: Buffer;
  readonly master_key_id: string;
}

/** Uses the primary key. */
export const findOwnKey = (db: Db, name: string): Promise<OwnKeyRow | null> =>
  row(db, sql`select name, wrapped_key, master_key_id from own_key where name = ${name}`);

/** Does nothing when there is one of that name. */
export const insertOwnKey = (db: Db, key: OwnKeyRow): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into own_key (name, wrapped_key, master_key_id) values (${key.name}, ${key.wrapped_key}, ${key.master_key_id})
      on conflict (name) do nothing`,
  );

/** Locks the vault's current key against a rotation until the transaction ends. */
export const lockCurrentKey = async (tx: Db): Promise<string | null> =>
  (await row<{ master_key_id: string }>(tx, sql`select master_key_id from vault for share`))?.master_key_id ?? null;

/** The service's own keys that are wrapped by master keys other than `id`. There are few. */
export const listOwnKeysToRewrap = (db: Db, id: string): Promise<OwnKeyRow[]> =>
  rows(db, sql`select name, wrapped_key, master_key_id from own_key where master_key_id <> ${id} order by name`);

/** Replaces the wrapped key, unless it has changed since it was read, or `masterKeyId` is not the vault's current key. */
export const rewrapOwnKey = async (db: Db, masterKeyId: string, before: OwnKeyRow, wrapped: Buffer): Promise<boolean> =>
  (await row(
    db,
    sql`
      with current as (select from vault where master_key_id = ${masterKeyId} for share)
      update own_key set wrapped_key = ${wrapped}, master_key_id = ${masterKeyId}
      where name = ${before.name} and wrapped_key = ${before.wrapped_key} and exists (select from current)
      returning name`,
  )) !== null;
