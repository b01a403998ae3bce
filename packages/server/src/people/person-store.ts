import { type Db, type PersonId, row, sql } from "#kernel";

/** How a person signs in. */
export interface Credentials {
  readonly id: PersonId;
  readonly passwordHash: string | null;
  readonly version: number;
}

/** Uses index person_email_key. */
export const findCredentials = (db: Db, email: string): Promise<Credentials | null> =>
  row(db, sql`select id, password_hash as "passwordHash", credentials_version as version from person where email = ${email}`);

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
