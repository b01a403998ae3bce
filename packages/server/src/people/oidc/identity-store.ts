import { type Db, type PersonId, row, rows, sql } from "#kernel";

/** Locks an account of an identity provider, whether somebody has it or not, until the transaction ends. */
export const lockIdentity = (db: Db, issuer: string, subject: string): Promise<unknown> =>
  row(db, sql`select pg_advisory_xact_lock(hashtextextended(${`${issuer} ${subject}`}, 7305512022))`);

/** The person who has an account of an identity provider. Uses the primary key. */
export const findIdentity = async (db: Db, issuer: string, subject: string): Promise<PersonId | null> =>
  (await row<{ id: PersonId }>(db, sql`select person_id as id from identity where issuer = ${issuer} and subject = ${subject}`))?.id ??
  null;

/** The same with the version of the person's credentials. Locks the person against other changes until the transaction ends. */
export const lockPersonByIdentity = (db: Db, issuer: string, subject: string): Promise<{ id: PersonId; version: number } | null> =>
  row(
    db,
    sql`
      select p.id, p.credentials_version as version
      from identity i join person p on p.id = i.person_id
      where i.issuer = ${issuer} and i.subject = ${subject} for no key update of p`,
  );

/**
 * Returns false when the account already belongs to somebody, and when the person's credentials have changed: an account that is added
 * during a reset would survive it. Uses the primary key of person.
 */
export const insertIdentity = async (
  db: Db,
  issuer: string,
  subject: string,
  person: { readonly id: PersonId; readonly version: number },
): Promise<boolean> =>
  (await row(
    db,
    sql`
      insert into identity (issuer, subject, person_id)
      select ${issuer}, ${subject}, id from person where id = ${person.id} and credentials_version = ${person.version} for share
      on conflict (issuer, subject) do nothing returning person_id`,
  )) !== null;

/** Uses index identity_person. */
export const deleteIdentities = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from identity where person_id = ${personId}`);
