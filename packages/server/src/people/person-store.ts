import { type Db, isDuplicate, type PersonId, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

/** How a person signs in. */
export interface Credentials {
  readonly id: PersonId;
  readonly passwordHash: string | null;
  readonly version: number;
}

/** Uses index person_email_key. */
export const findCredentials = (db: Db, email: string): Promise<Credentials | null> =>
  row(db, sql`select id, password_hash as "passwordHash", credentials_version as version from person where email = ${email}`);

/** Uses the primary key. */
export const findCredentialsById = (db: Db, id: PersonId): Promise<Credentials | null> =>
  row(db, sql`select id, password_hash as "passwordHash", credentials_version as version from person where id = ${id}`);

export interface PersonRow {
  readonly id: PersonId;
  readonly name: string;
  readonly email: string;
  readonly verified: boolean;
  readonly operator: boolean;
}

/*
 * Transactions lock people first, then workspaces in the order of their ids (`lockMembers`), then everything else. Inserting a row that
 * refers to a person also locks the person. A transaction that locks something else before such an insert calls `keepPerson` first.
 */

/** Locks a person against other changes until the transaction ends. Uses the primary key. */
export const lockPerson = (db: Db, id: PersonId): Promise<PersonRow | null> =>
  row(
    db,
    sql`
      select id, name, email, email_verified_at is not null as verified, operator from person where id = ${id}
      for no key update`,
  );

/** Locks a person who is about to be removed: nothing can refer to them any more. Uses index person_email_key. */
export const lockPersonToRemove = (db: Db, email: string): Promise<PersonRow | null> =>
  row(
    db,
    sql`
      select id, name, email, email_verified_at is not null as verified, operator from person where email = ${email}
      for update`,
  );

/** Keeps a person from being removed until the transaction ends. Returns false when there is no such person. Uses the primary key. */
export const keepPerson = async (db: Db, id: PersonId): Promise<boolean> =>
  (await row(db, sql`select from person where id = ${id} for key share`)) !== null;

/** Uses index person_email_key. */
export const findPersonByEmail = (db: Db, email: string): Promise<PersonRow | null> =>
  row(db, sql`select id, name, email, email_verified_at is not null as verified, operator from person where email = ${email}`);

/** Returns the version of the new person's credentials, or null when the address is taken. */
export const insertPerson = (
  db: Db,
  person: {
    readonly id: PersonId;
    readonly name: string;
    readonly email: string;
    readonly passwordHash: string | null;
    readonly operator: boolean;
    readonly verified: boolean;
  },
): Promise<{ version: number } | null> =>
  row(
    db,
    sql`
      insert into person (id, name, email, password_hash, operator, email_verified_at)
      values (${person.id}, ${person.name}, ${person.email}, ${person.passwordHash}, ${person.operator},
        case when ${person.verified} then moment() end)
      on conflict (email) do nothing
      returning credentials_version as version`,
  );

export const anyPerson = async (db: Db): Promise<boolean> =>
  (await row<{ there: boolean }>(db, sql`select exists (select from person) as there`))?.there ?? false;

/**
 * Sets a person's password, or removes it. What was begun with the old credentials can no longer be finished. Returns null when they have
 * changed since `version`. Uses the primary key.
 */
export const updatePassword = (
  db: Db,
  id: PersonId,
  passwordHash: string | null,
  version: number | null,
): Promise<{ version: number } | null> =>
  row(
    db,
    sql`
      update person set password_hash = ${passwordHash}, credentials_version = credentials_version + 1, updated_at = moment()
      where id = ${id} and (${version}::integer is null or credentials_version = ${version})
      returning credentials_version as version`,
  );

/** Uses the primary key. */
export const updateName = (db: Db, id: PersonId, name: string): Promise<unknown> =>
  row(db, sql`update person set name = ${name}, updated_at = moment() where id = ${id} returning id`);

/** Returns false when the address is another person's. The transaction must then not continue. Uses the primary key. */
export const updateEmail = (db: Db, id: PersonId, email: string, verified: boolean): Promise<boolean> =>
  row(
    db,
    sql`update person set email = ${email}, email_verified_at = case when ${verified} then moment() end, updated_at = moment() where id = ${id} returning id`,
  ).then(
    (found) => found !== null,
    (error: unknown) => {
      if (isDuplicate(error)) return false;
      throw error;
    },
  );

/** Uses the primary key. */
export const markVerified = (db: Db, id: PersonId): Promise<unknown> =>
  row(db, sql`update person set email_verified_at = coalesce(email_verified_at, moment()) where id = ${id} returning id`);

/** Removes a person with everything that belongs to them. Uses the primary key. */
export const deletePerson = (db: Db, id: PersonId): Promise<unknown> => row(db, sql`delete from person where id = ${id} returning id`);

/** Makes a person an operator by hand, or ends that. Uses the primary key. */
export const setOperator = (db: Db, id: PersonId, operator: boolean): Promise<unknown> =>
  row(db, sql`update person set operator = ${operator}, operator_managed = false, updated_at = moment() where id = ${id} returning id`);

export interface ListedPerson {
  readonly id: PersonId;
  readonly name: string;
  readonly email: string;
  readonly verified: boolean;
  readonly operator: boolean;
  readonly workspaces: number;
  readonly created_at: Timestamp;
}

/** Lists people with older accounts than `before`, the newest first. Uses the primary key. */
export const listPeople = (db: Db, before: PersonId | null, limit: number): Promise<ListedPerson[]> =>
  rows(
    db,
    sql`
      select p.id, p.name, p.email, p.email_verified_at is not null as verified, p.operator,
        (select count(*)::int from membership m where m.person_id = p.id) as workspaces, p.created_at
      from person p where ${before}::uuid is null or p.id < ${before}
      order by p.id desc limit ${limit}`,
  );

/** The workspaces of a person. Uses index membership_person. */
export const listWorkspaceIdsAcrossWorkspaces = async (db: Db, id: PersonId): Promise<WorkspaceId[]> =>
  (await rows<{ workspace_id: WorkspaceId }>(db, sql`select workspace_id from membership where person_id = ${id}`)).map(
    ({ workspace_id }) => workspace_id,
  );
