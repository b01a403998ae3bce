import type { LinkKind, PersonRole } from "@tidemill/contract";
import { type Db, fragment, type PersonId, row, rows, sql, type Timestamp, type Uuid, type WorkspaceId } from "#kernel";
import { IS_VALID_KEY } from "#workspaces";

export interface NewLink {
  readonly id: Uuid;
  readonly kind: LinkKind;
  readonly hash: Buffer;
  readonly workspaceId: WorkspaceId | null;
  readonly role: PersonRole | null;
  readonly email: string | null;
  readonly personId: PersonId | null;
  readonly mailed: boolean;
  readonly createdBy: string;
  /** The key that made the link. The link ends with the key. */
  readonly createdByKey: Uuid | null;
  readonly hours: number;
}

export const insertLink = (db: Db, link: NewLink): Promise<{ created_at: Timestamp; expires_at: Timestamp } | null> =>
  row(
    db,
    sql`
      insert into link (id, kind, token_hash, workspace_id, role, email, person_id, mailed, created_by, created_by_key, expires_at)
      values (${link.id}, ${link.kind}, ${link.hash}, ${link.workspaceId}, ${link.role}, ${link.email}, ${link.personId}, ${link.mailed},
        ${link.createdBy}, ${link.createdByKey}, moment() + ${link.hours} * interval '1 hour')
      returning created_at, expires_at`,
  );

export interface LinkRow {
  readonly id: Uuid;
  readonly kind: LinkKind;
  readonly workspaceId: WorkspaceId | null;
  readonly workspaceName: string | null;
  readonly role: PersonRole | null;
  readonly email: string | null;
  readonly personId: PersonId | null;
  readonly mailed: boolean;
  readonly createdBy: string;
  readonly expiresAt: Timestamp;
}

/** A condition on link `l`: it was not made by a key that is revoked or has expired. */
export const KEY_HOLDS = fragment`
  (l.created_by_key is null
    or exists (select from api_key k where k.id = l.created_by_key and ${IS_VALID_KEY}))`;

/** A link that can still be used. A link of a deleted workspace, or of a key that has ended, cannot. Uses index link_token_hash_key. */
export const findLinkAcrossWorkspaces = (db: Db, hash: Buffer): Promise<LinkRow | null> =>
  row(
    db,
    sql`
      select l.id, l.kind, l.workspace_id as "workspaceId", w.name as "workspaceName", l.role, l.email, l.person_id as "personId", l.mailed,
        l.created_by as "createdBy", l.expires_at as "expiresAt"
      from link l left join workspace w on w.id = l.workspace_id and w.deleted_at is null
      where l.token_hash = ${hash} and l.expires_at > moment() and (l.workspace_id is null or w.id is not null) and ${KEY_HOLDS}`,
  );

/** Uses up a link. If two requests use it at the same time, one gets false. Uses the primary key. */
export const deleteLink = async (db: Db, id: Uuid): Promise<boolean> =>
  (await row(db, sql`delete from link l where id = ${id} and expires_at > moment() and ${KEY_HOLDS} returning id`)) !== null;

export const deleteSetupLinks = (db: Db): Promise<unknown> => rows(db, sql`delete from link where kind = 'setup'`);

/** Deletes unused links of a person: a reset makes earlier links useless. Uses index link_person. */
export const deleteLinksOf = (db: Db, personId: PersonId): Promise<unknown> =>
  rows(db, sql`delete from link where person_id = ${personId}`);

/** Uses index link_expiry. */
export const sweepLinks = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`delete from link where ctid = any(array(select ctid from link where expires_at <= moment() order by expires_at limit 10000))`,
  );

/** Locks set-up links, so that of several only one can be used. */
export const lockSetup = (db: Db): Promise<unknown> => row(db, sql`select pg_advisory_xact_lock(7305512021)`);

/** The workspace that the first person becomes an admin of. Uses the primary key. */
export const findFirstWorkspace = async (db: Db): Promise<WorkspaceId | null> =>
  (await row<{ id: WorkspaceId }>(db, sql`select id from workspace where deleted_at is null order by id limit 1`))?.id ?? null;
