import { type Db, type PersonId, row, rows, sql } from "#kernel";

/** Remembers a browser for 90 days from now. Returns false when it is not known as a browser of the person. Uses the primary key. */
export const extendDevice = async (db: Db, hash: Buffer, personId: PersonId): Promise<boolean> =>
  (await row(
    db,
    sql`
      update known_device set expires_at = moment() + interval '90 days'
      where token_hash = ${hash} and person_id = ${personId} and expires_at > moment() returning person_id`,
  )) !== null;

export const insertDevice = (db: Db, hash: Buffer, personId: PersonId): Promise<unknown> =>
  row(
    db,
    sql`
      insert into known_device (token_hash, person_id, expires_at) values (${hash}, ${personId}, moment() + interval '90 days')
      returning person_id`,
  );

/** Whether the person with that address has signed in with the browser. Uses the primary keys of known_device and person. */
export const isDeviceOf = async (db: Db, hash: Buffer, email: string): Promise<boolean> =>
  (await row(
    db,
    sql`
      select from known_device d join person p on p.id = d.person_id
      where d.token_hash = ${hash} and d.expires_at > moment() and p.email = ${email}`,
  )) !== null;

/** Uses index known_device_person. */
export const deleteDevices = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from known_device where person_id = ${personId}`);

/** Uses index known_device_expiry. */
export const sweepDevices = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      delete from known_device where ctid = any(array(
        select ctid from known_device where expires_at <= moment() order by expires_at limit 10000))`,
  );
