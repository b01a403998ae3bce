import type { PersonRole, Plan } from "@tidemill/contract";
import { type Db, type PersonId, row, rows, sql, type Timestamp, type Uuid, type WorkspaceId } from "#kernel";
import { COUNTS, IS_OPERATOR } from "../members/membership-store.ts";

export type SignedInWith = "password" | "passkey" | "oidc" | "link";

export interface NewSession {
  readonly id: Uuid;
  readonly personId: PersonId;
  readonly hash: Buffer;
  /** The version of the credentials that were proven. */
  readonly version: number;
  readonly signedInWith: SignedInWith;
  readonly address: string | null;
  readonly userAgent: string | null;
}

/**
 * Opens a session of 30 days, in which the person counts as confirmed for ten minutes. A session that began at the identity provider ends
 * after a day, because the provider does not report that it has removed a person. Returns null when their credentials have changed since
 * they were proven. Uses the primary key of person, which stays locked against a change until the transaction ends.
 */
export const insertSession = (db: Db, session: NewSession): Promise<{ id: Uuid } | null> =>
  row(
    db,
    sql`
      insert into session (id, person_id, token_hash, credentials_version, signed_in_with, address, user_agent, confirmed_until, expires_at)
      select ${session.id}, id, ${session.hash}, credentials_version, ${session.signedInWith}, ${session.address}, ${session.userAgent},
        moment() + interval '10 minutes', moment() + case when ${session.signedInWith} = 'oidc' then interval '1 day' else interval '30 days' end
      from person where id = ${session.personId} and credentials_version = ${session.version} for share
      returning id`,
  );

/** A session that is valid, and its person. */
export interface SessionRow {
  readonly sessionId: Uuid;
  readonly personId: PersonId;
  readonly version: number;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly operator: boolean;
  /** Whether the person has rights that count only in a session that began at the identity provider, which this one did not. */
  readonly moreByProvider: boolean;
  readonly hasPassword: boolean;
  readonly totp: boolean;
  readonly confirmedUntil: Timestamp | null;
}

/**
 * Finds a session that has not ended, was used in the last 12 hours, and was opened with the credentials that its person still has. Uses
 * index session_token_hash_key. If this is a use of it, records that, at most once a minute.
 */
export const findSession = (db: Db, hash: Buffer, isUse: boolean): Promise<SessionRow | null> =>
  row(
    db,
    sql`
      with found as (
        select s.id as "sessionId", s.last_used_at, p.id as "personId", p.credentials_version as version, p.name, p.email,
          p.email_verified_at is not null as "emailVerified", ${IS_OPERATOR} as operator, p.password_hash is not null as "hasPassword",
          p.operator_managed and not ${IS_OPERATOR}
            or exists (select from membership m where m.person_id = p.id and not ${COUNTS}) as "moreByProvider",
          exists (select from totp t where t.person_id = p.id and t.enabled_at is not null) as totp,
          case when s.confirmed_until > moment() then s.confirmed_until end as "confirmedUntil"
        from session s join person p on p.id = s.person_id and p.credentials_version = s.credentials_version
        where s.token_hash = ${hash} and s.expires_at > moment() and s.last_used_at > moment() - interval '12 hours'
      ), used as (
        update session set last_used_at = moment()
        where ${isUse} and id = (select "sessionId" from found where last_used_at < moment() - interval '1 minute')
      )
      select "sessionId", "personId", version, name, email, "emailVerified", operator, "moreByProvider", "hasPassword", totp, "confirmedUntil" from found`,
  );

/** What a person may do in a workspace, and its plan and limits. */
export interface WorkspaceAccess {
  readonly workspaceId: WorkspaceId;
  readonly role: PersonRole;
  readonly plan: Plan;
  readonly requestsPerMinute: number | null;
  readonly executionsPerMonth: number | null;
}

/**
 * What the person of a session may do in a workspace. Null when they are not a member. Operators may read all workspaces. Uses the primary
 * keys of session, workspace and membership.
 */
export const findAccess = (
  db: Db,
  { sessionId, operator }: Pick<SessionRow, "sessionId" | "operator">,
  workspaceId: WorkspaceId,
): Promise<WorkspaceAccess | null> =>
  row(
    db,
    sql`
      select w.id as "workspaceId", coalesce(m.role, 'read') as role, w.plan, w.requests_per_minute as "requestsPerMinute",
        w.executions_per_month as "executionsPerMonth"
      from session s join workspace w on w.id = ${workspaceId}
        left join membership m on m.workspace_id = w.id and m.person_id = s.person_id and ${COUNTS}
      where s.id = ${sessionId} and w.deleted_at is null and (m.role is not null or ${operator})`,
  );

/**
 * Replaces a session with one that has the same end but a new token, and in which the person counts as confirmed. Requests in flight with
 * the old token may still end, but cannot do what needs confirmation. Uses the primary keys of session and person.
 *
 * @param version version of the credentials. If it differs from `old.version`, they have changed
 */
export const replaceSession = (
  db: Db,
  old: { sessionId: Uuid; version: number },
  { id, hash, version }: { id: Uuid; hash: Buffer; version: number },
): Promise<{ id: Uuid } | null> =>
  row(
    db,
    sql`
      with old as (
        update session set replaced = true, confirmed_until = null, expires_at = least(expires_at, moment() + interval '30 seconds')
        where id = ${old.sessionId} and not replaced
        returning person_id, credentials_version, signed_in_with, address, user_agent, created_at
      )
      insert into session (id, person_id, token_hash, credentials_version, signed_in_with, address, user_agent, confirmed_until, created_at,
        expires_at)
      select ${id}, person_id, ${hash}, ${version}, signed_in_with, address, user_agent, moment() + interval '10 minutes', created_at,
        created_at + case when signed_in_with = 'oidc' then interval '1 day' else interval '30 days' end
      from old where credentials_version = ${old.version}
      returning id`,
  );

export interface OwnSessionRow {
  readonly id: Uuid;
  readonly signed_in_with: SignedInWith;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly created_at: Timestamp;
  readonly last_used_at: Timestamp;
  readonly expires_at: Timestamp;
}

/** A person's sessions that can still be used, the newest first. Uses index session_person. */
export const listSessions = (db: Db, personId: PersonId, version: number): Promise<OwnSessionRow[]> =>
  rows(
    db,
    sql`
      select id, signed_in_with, address, user_agent, created_at, last_used_at, expires_at from session
      where person_id = ${personId} and credentials_version = ${version} and not replaced and expires_at > moment()
        and last_used_at > moment() - interval '12 hours'
      order by id desc limit 100`,
  );

/** Ends a session of a person. Uses the primary key. */
export const deleteSession = (
  db: Db,
  personId: PersonId,
  id: Uuid,
): Promise<{ address: string | null; user_agent: string | null } | null> =>
  row(db, sql`delete from session where person_id = ${personId} and id = ${id} returning address, user_agent`);

/** Ends all sessions of a person, except the given one, if any. Uses index session_person. */
export const deleteSessions = (db: Db, personId: PersonId, except: Uuid | null): Promise<unknown> =>
  rows(db, sql`delete from session where person_id = ${personId} and (${except}::uuid is null or id <> ${except})`);

/** Uses index session_expiry. Sessions that were not used for 12 hours stay until then, and are refused. */
export const sweepSessions = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`delete from session where ctid = any(array(select ctid from session where expires_at <= moment() order by expires_at limit 10000))`,
  );

/** Ends a session. Uses index session_token_hash_key. */
export const deleteSessionByToken = (db: Db, hash: Buffer): Promise<{ person_id: PersonId } | null> =>
  row(db, sql`delete from session where token_hash = ${hash} returning person_id`);
