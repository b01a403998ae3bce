import type { PersonRole } from "@tidemill/contract";
import { type Db, type PersonId, row, sql, type WorkspaceId } from "#kernel";

/** Gives a person a role because of their groups. A membership that was given by hand stays as it is. Returns whether anything changed. */
export const putManagedMembership = async (db: Db, workspaceId: WorkspaceId, personId: PersonId, role: PersonRole): Promise<boolean> =>
  (await row(
    db,
    sql`
      insert into membership as m (workspace_id, person_id, role, managed)
      select id, ${personId}, ${role}, true from workspace where id = ${workspaceId} and deleted_at is null
      on conflict (workspace_id, person_id) do update set role = excluded.role, updated_at = moment()
      where m.managed and m.role <> excluded.role
      returning role`,
  )) !== null;

/** Uses the primary key. */
export const findManagedRole = async (db: Db, workspaceId: WorkspaceId, personId: PersonId): Promise<PersonRole | null> =>
  (
    await row<{ role: PersonRole }>(
      db,
      sql`select role from membership where workspace_id = ${workspaceId} and person_id = ${personId} and managed`,
    )
  )?.role ?? null;

/**
 * Makes a person an operator because of their groups, or ends that. A person who was made an operator by hand stays one. Returns whether
 * anything changed. Uses the primary key.
 */
export const putManagedOperator = async (db: Db, personId: PersonId, operator: boolean): Promise<boolean> =>
  (await row(
    db,
    sql`
      update person set operator = ${operator}, operator_managed = ${operator}, updated_at = moment()
      where id = ${personId} and operator <> ${operator} and (operator_managed or not operator) returning id`,
  )) !== null;
