import type { PersonRole, Plan } from "@tidemill/contract";
import { type Db, fragment, type PersonId, plainArray, row, rows, sql, type Timestamp, type Uuid, type WorkspaceId } from "#kernel";

/*
 * A condition on a membership `m`, or a person `p`, in session `s`: rights that follow from groups of the identity provider count only in
 * sessions that began there.
 */
export const COUNTS = fragment`(not m.managed or s.signed_in_with = 'oidc')`;
export const IS_OPERATOR = fragment`(p.operator and (not p.operator_managed or s.signed_in_with = 'oidc'))`;

/** Makes a person a member. Returns false when they already are, or when the workspace or the person does not exist. */
export const insertMembership = async (db: Db, workspaceId: WorkspaceId, personId: PersonId, role: PersonRole): Promise<boolean> =>
  (await row(
    db,
    sql`
      insert into membership (workspace_id, person_id, role)
      select w.id, p.id, ${role} from workspace w, person p where w.id = ${workspaceId} and w.deleted_at is null and p.id = ${personId}
      on conflict (workspace_id, person_id) do nothing
      returning role`,
  )) !== null;

/** A person in a workspace. */
export interface MemberRow {
  readonly id: PersonId;
  readonly name: string;
  readonly email: string;
  readonly role: PersonRole;
  readonly created_at: Timestamp;
}

/** Lists members, those with the newest accounts first. Uses the primary key of membership. */
export const listMembers = (db: Db, workspaceId: WorkspaceId, before: PersonId | null, limit: number): Promise<MemberRow[]> =>
  rows(
    db,
    sql`
      select p.id, p.name, p.email, m.role, m.created_at
      from membership m join person p on p.id = m.person_id
      where m.workspace_id = ${workspaceId} and (${before}::uuid is null or m.person_id < ${before})
      order by m.person_id desc limit ${limit}`,
  );

/** Uses the primary keys of membership and person. */
export const findMember = (db: Db, workspaceId: WorkspaceId, personId: PersonId): Promise<MemberRow | null> =>
  row(
    db,
    sql`
      select p.id, p.name, p.email, m.role, m.created_at
      from membership m join person p on p.id = m.person_id
      where m.workspace_id = ${workspaceId} and m.person_id = ${personId}`,
  );

/** Whether somebody with that address is a member. Uses index person_email_key. */
export const isMemberByEmail = async (db: Db, workspaceId: WorkspaceId, email: string): Promise<boolean> =>
  (await row(
    db,
    sql`
      select from person p join membership m on m.workspace_id = ${workspaceId} and m.person_id = p.id
      where p.email = ${email}`,
  )) !== null;

/**
 * Locks the memberships of workspaces against other changes until the transaction ends, in the order of the workspaces' ids, so that two
 * transactions cannot deadlock. Uses the primary key of workspace.
 */
export const lockMembersAcrossWorkspaces = (db: Db, workspaceIds: Iterable<WorkspaceId>): Promise<unknown> =>
  rows(db, sql`select from workspace where id = any(${plainArray([...workspaceIds])}::uuid[]) order by id for no key update`);

/** The same for one workspace. */
export const lockMembers = (db: Db, workspaceId: WorkspaceId): Promise<unknown> => lockMembersAcrossWorkspaces(db, [workspaceId]);

/** Whether the workspace has an admin other than this person. Uses the primary key. */
export const hasOtherAdmin = async (db: Db, workspaceId: WorkspaceId, personId: PersonId): Promise<boolean> =>
  (await row(
    db,
    sql`select from membership where workspace_id = ${workspaceId} and role = 'admin' and person_id <> ${personId} limit 1`,
  )) !== null;

/**
 * Whether the person of a session may make another person a member without asking them: that person is already a member, or a member of
 * another workspace that the first one administers, or the first one is an operator. Uses index membership_person.
 */
export const mayAddAcrossWorkspaces = async (db: Db, workspaceId: WorkspaceId, bySession: Uuid, personId: PersonId): Promise<boolean> =>
  (await row(
    db,
    sql`
      select from session s join person p on p.id = s.person_id
      where s.id = ${bySession} and (
        ${IS_OPERATOR}
        or exists (
          select from membership theirs
          where theirs.person_id = ${personId} and (
            theirs.workspace_id = ${workspaceId}
            or exists (
              select from membership m join workspace w on w.id = m.workspace_id and w.deleted_at is null
              where m.workspace_id = theirs.workspace_id and m.person_id = p.id and m.role = 'admin' and ${COUNTS}))))`,
  )) !== null;

/** A role that somebody gives no longer follows the person's groups. Uses the primary key. */
export const updateRole = (db: Db, workspaceId: WorkspaceId, personId: PersonId, role: PersonRole): Promise<unknown> =>
  row(
    db,
    sql`
      update membership set role = ${role}, managed = false, updated_at = moment()
      where workspace_id = ${workspaceId} and person_id = ${personId} returning role`,
  );

/** Uses the primary key. */
export const deleteMembership = (db: Db, workspaceId: WorkspaceId, personId: PersonId): Promise<unknown> =>
  row(db, sql`delete from membership where workspace_id = ${workspaceId} and person_id = ${personId} returning role`);

/** The number of workspaces of which a person is an admin. Uses index membership_person. */
export const countAdminOf = async (db: Db, personId: PersonId): Promise<number> =>
  (
    await row<{ count: number }>(
      db,
      sql`
      select count(*)::int as count
      from membership m join workspace w on w.id = m.workspace_id and w.deleted_at is null
      where m.person_id = ${personId} and m.role = 'admin'`,
    )
  )?.count ?? 0;

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

/** The workspaces that a person may use in a session, by name. Uses index membership_person. */
export const listOfSessionAcrossWorkspaces = (db: Db, sessionId: Uuid): Promise<OwnWorkspace[]> =>
  rows(
    db,
    sql`
      select w.id, w.name, w.plan, m.role
      from session s join membership m on m.person_id = s.person_id and ${COUNTS} join workspace w on w.id = m.workspace_id and w.deleted_at is null
      where s.id = ${sessionId}
      order by w.name, w.id limit 1000`,
  );

/** Uses the primary key. */
export const removeMemberships = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  row(db, sql`delete from membership where workspace_id = ${workspaceId}`);
