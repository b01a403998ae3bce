import { type Db, type PersonId, row, rows, sql, type Uuid } from "#kernel";

export interface TotpRow {
  readonly id: Uuid;
  readonly ciphertext: Buffer;
  readonly enabled: boolean;
}

/** Begins to enrol an authenticator, instead of one that is not in use yet. Returns false when one is in use. Uses the primary key. */
export const putPendingTotp = async (db: Db, personId: PersonId, id: Uuid, ciphertext: Buffer): Promise<boolean> =>
  (await row(
    db,
    sql`
      insert into totp as t (person_id, id, ciphertext) values (${personId}, ${id}, ${ciphertext})
      on conflict (person_id) do update set id = excluded.id, ciphertext = excluded.ciphertext, last_step = 0
      where t.enabled_at is null
      returning id`,
  )) !== null;

/** Uses the primary key. */
export const findTotp = (db: Db, personId: PersonId): Promise<TotpRow | null> =>
  row(db, sql`select id, ciphertext, enabled_at is not null as enabled from totp where person_id = ${personId}`);

/** Takes an authenticator into use, unless another one was begun in the meantime. Uses the primary key. */
export const enableTotp = async (db: Db, personId: PersonId, id: Uuid, step: number): Promise<boolean> =>
  (await row(
    db,
    sql`
      update totp set enabled_at = moment(), last_step = ${step}
      where person_id = ${personId} and id = ${id} and enabled_at is null
      returning id`,
  )) !== null;

/** Uses up the code of a step, and the codes before it. Returns false when it was already used. Uses the primary key. */
export const takeStep = async (db: Db, personId: PersonId, id: Uuid, step: number): Promise<boolean> =>
  (await row(
    db,
    sql`
      update totp set last_step = ${step}
      where person_id = ${personId} and id = ${id} and enabled_at is not null and last_step < ${step}
      returning id`,
  )) !== null;

/** Uses the primary key. */
export const deleteTotp = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from totp where person_id = ${personId} returning id`);

/** Replaces all recovery codes of a person. Uses the primary key. */
export async function replaceRecoveryCodes(tx: Db, personId: PersonId, hashes: readonly Buffer[]): Promise<void> {
  await deleteRecoveryCodes(tx, personId);
  await rows(tx, sql`insert into recovery_code (person_id, hash) select ${personId}, hash from unnest(${hashes}::bytea[]) hash`);
}

/** Uses the primary key. */
export const deleteRecoveryCodes = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from recovery_code where person_id = ${personId}`);

/** Uses up a recovery code. Uses the primary key. */
export const takeRecoveryCode = async (db: Db, personId: PersonId, hash: Buffer): Promise<boolean> =>
  (await row(db, sql`delete from recovery_code where person_id = ${personId} and hash = ${hash} returning person_id`)) !== null;
