import { type Db, type PersonId, row, rows, sql, type Timestamp, textArray, type Uuid } from "#kernel";

export interface PasskeyRow {
  readonly id: Uuid;
  readonly name: string;
  readonly rp_id: string;
  readonly created_at: Timestamp;
  readonly last_used_at: Timestamp | null;
}

export interface NewPasskey {
  readonly id: Uuid;
  readonly personId: PersonId;
  /** The version of the credentials with which the person is signed in. */
  readonly version: number;
  readonly name: string;
  readonly rpId: string;
  readonly credentialId: string;
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly transports: readonly string[];
}

/**
 * Returns null when the credential is already stored, and when the person's credentials have changed: a passkey that is added during a
 * reset would survive it. Uses the primary key of person.
 */
export const insertPasskey = (db: Db, passkey: NewPasskey): Promise<PasskeyRow | null> =>
  row(
    db,
    sql`
      insert into passkey (id, person_id, name, rp_id, credential_id, public_key, counter, transports)
      select ${passkey.id}, id, ${passkey.name}, ${passkey.rpId}, ${passkey.credentialId}, ${Buffer.from(passkey.publicKey)}, ${passkey.counter},
        ${textArray(passkey.transports)}::text[]
      from person where id = ${passkey.personId} and credentials_version = ${passkey.version} for share
      on conflict (credential_id) do nothing
      returning id, name, rp_id, created_at, last_used_at`,
  );

/** Uses index passkey_person. */
export const listPasskeys = (db: Db, personId: PersonId): Promise<(PasskeyRow & { credential_id: string })[]> =>
  rows(
    db,
    sql`select id, name, rp_id, created_at, last_used_at, credential_id from passkey where person_id = ${personId} order by id desc limit 100`,
  );

/** Uses the primary key. */
export const deletePasskey = (db: Db, personId: PersonId, id: Uuid): Promise<{ name: string } | null> =>
  row(db, sql`delete from passkey where person_id = ${personId} and id = ${id} returning name`);

/** Uses index passkey_person. */
export const deletePasskeys = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from passkey where person_id = ${personId}`);

export interface Credential {
  readonly id: Uuid;
  readonly personId: PersonId;
  readonly version: number;
  readonly publicKey: Buffer;
  readonly counter: number;
}

/** A passkey and its person. Uses index passkey_credential_id_key. */
export const findCredential = (db: Db, credentialId: string, rpId: string): Promise<Credential | null> =>
  row(
    db,
    sql`
      select k.id, p.id as "personId", p.credentials_version as version, k.public_key as "publicKey", k.counter::float8 as counter
      from passkey k join person p on p.id = k.person_id
      where k.credential_id = ${credentialId} and k.rp_id = ${rpId}`,
  );

/** Records a use. Returns false when the passkey is gone. Uses the primary key. */
export const recordUse = async (db: Db, id: Uuid, counter: number): Promise<boolean> =>
  (await row(
    db,
    sql`update passkey set counter = greatest(counter, ${counter}), last_used_at = moment() where id = ${id} returning id`,
  )) !== null;
