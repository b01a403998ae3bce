import type { PersonRole } from "@tidemill/contract";
import { type Db, type PersonId, row, rows, sql, type Timestamp, typeId, type Uuid, type WorkspaceId } from "#kernel";
import { KEY_HOLDS } from "./link-store.ts";

export interface InvitationRow {
  readonly id: Uuid;
  readonly role: PersonRole;
  readonly email: string | null;
  readonly created_by: string;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
}

/** Lists invitations that can still be accepted, newest first. Uses index link_workspace. */
export const listInvitations = (db: Db, workspaceId: WorkspaceId, before: Uuid | null, limit: number): Promise<InvitationRow[]> =>
  rows(
    db,
    sql`
      select id, role, email, created_by, created_at, expires_at from link l
      where workspace_id = ${workspaceId} and kind = 'invitation' and expires_at > moment() and ${KEY_HOLDS}
        and (${before}::uuid is null or id < ${before})
      order by id desc limit ${limit}`,
  );

/** Uses the primary key. */
export const deleteInvitation = (db: Db, workspaceId: WorkspaceId, id: Uuid): Promise<InvitationRow | null> =>
  row(
    db,
    sql`
      delete from link l
      where workspace_id = ${workspaceId} and id = ${id} and kind = 'invitation' and expires_at > moment() and ${KEY_HOLDS}
      returning id, role, email, created_by, created_at, expires_at`,
  );

/** Deletes the invitations that an actor has made. Uses index link_workspace. */
export const deleteInvitationsBy = (db: Db, workspaceId: WorkspaceId, createdBy: string): Promise<InvitationRow[]> =>
  rows(
    db,
    sql`
      delete from link where workspace_id = ${workspaceId} and kind = 'invitation' and created_by = ${createdBy} and expires_at > moment()
      returning id, role, email, created_by, created_at, expires_at`,
  );

/** The workspaces to which a person has invited others as an operator, without being an admin there. Few invitations are open at a time. */
export const listInvitedToAcrossWorkspaces = async (db: Db, personId: PersonId): Promise<WorkspaceId[]> =>
  (
    await rows<{ id: WorkspaceId }>(
      db,
      sql`
        select distinct workspace_id as id from link l
        where kind = 'invitation' and created_by = ${typeId("usr", personId)} and expires_at > moment()
          and not exists (select from membership m where m.workspace_id = l.workspace_id and m.person_id = ${personId} and m.role = 'admin')
        order by 1`,
    )
  ).map(({ id }) => id);

/** Uses index link_workspace. */
export const removeInvitations = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(db, sql`delete from link where workspace_id = ${workspaceId}`);
