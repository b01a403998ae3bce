import type { PersonRole, Plan } from "@tidemill/contract";
import { type Db, type PersonId, row, rows, sql, type WorkspaceId } from "#kernel";

/** Makes a person a member, or changes the role of one. */
export const setMembership = (db: Db, workspaceId: WorkspaceId, personId: PersonId, role: PersonRole): Promise<unknown> =>
  row(
    db,
    sql`
      insert into membership (workspace_id, person_id, role)
      select id, ${personId}, ${role} from workspace where id = ${workspaceId} and deleted_at is null
      on conflict (workspace_id, person_id) do update set role = excluded.role, updated_at = moment()
      returning role`,
  );

export interface OwnWorkspace {
  readonly id: WorkspaceId;
  readonly name: string;
  readonly plan: Plan;
  readonly role: PersonRole;
}

/** The workspaces of a person, by name. Uses index membership_person. */
export const listOwnAcrossWorkspaces = (db: Db, personId: PersonId): Promise<OwnWorkspace[]> =>
  rows(
    db,
    sql`
      select w.id, w.name, w.plan, m.role
      from membership m join workspace w on w.id = m.workspace_id and w.deleted_at is null
      where m.person_id = ${personId}
      order by w.name, w.id limit 1000`,
  );

/** Uses the primary key. */
export const removeMemberships = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  row(db, sql`delete from membership where workspace_id = ${workspaceId}`);
