import type { Role } from "@tidemill/contract";
import type { Principal } from "#http";
import { type Db, fragment, plainArray, row, rows, sql, type Timestamp, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { KeyRow } from "./key.ts";

/** Returns null when the workspace does not exist. */
export const insertKey = (
  db: Db,
  key: {
    id: Uuid;
    workspaceId: WorkspaceId;
    name: string;
    role: Role;
    queues: readonly string[] | null;
    workflows: readonly string[] | null;
    hash: Buffer;
    expiresAt: string | null;
  },
): Promise<KeyRow | null> =>
  row(
    db,
    sql`
      insert into api_key (id, workspace_id, name, role, queues, workflows, hash, expires_at)
      select ${key.id}, id, ${key.name}, ${key.role}, ${key.queues && textArray(key.queues)}::text[],
        ${key.workflows && textArray(key.workflows)}::text[], ${key.hash}, ${key.expiresAt}
      from workspace where id = ${key.workspaceId} and deleted_at is null
      returning id, name, role, queues, workflows, expires_at, last_used_at, created_at`,
  );

/** Lists keys that are not revoked and older than `before`, newest first. Uses index api_key_workspace. */
export const listKeys = (db: Db, workspaceId: WorkspaceId, before: Uuid | null, limit: number): Promise<KeyRow[]> =>
  rows(
    db,
    sql`
      select id, name, role, queues, workflows, expires_at, last_used_at, created_at from api_key
      where workspace_id = ${workspaceId} and revoked_at is null and (${before}::uuid is null or id < ${before})
      order by id desc limit ${limit}`,
  );

/** Returns null when there is no such key, or when it is already revoked. Uses the primary key. */
export const markKeyRevoked = (db: Db, workspaceId: WorkspaceId, id: Uuid): Promise<KeyRow | null> =>
  row(
    db,
    sql`
      update api_key set revoked_at = moment() where workspace_id = ${workspaceId} and id = ${id} and revoked_at is null
      returning id, name, role, queues, workflows, expires_at, last_used_at, created_at`,
  );

/** A condition on key `k`: it is neither revoked nor expired. */
export const IS_VALID_KEY = fragment`k.revoked_at is null and (k.expires_at is null or k.expires_at > moment())`;

/** Finds the principal of a key that is neither revoked nor expired. Uses index api_key_hash_key. */
export const findPrincipalAcrossWorkspaces = (db: Db, hash: Buffer): Promise<Principal | null> =>
  row(
    db,
    sql`
      select k.id as "keyId", k.workspace_id as "workspaceId", k.role, k.queues, k.workflows, w.plan, w.requests_per_minute as "requestsPerMinute",
        w.executions_per_month as "executionsPerMonth", k.expires_at as "expiresAt"
      from api_key k join workspace w on w.id = k.workspace_id and w.deleted_at is null
      where k.hash = ${hash} and ${IS_VALID_KEY}`,
  );

/** Locks a valid key against revocation until the transaction ends. Uses the primary key. */
export const lockKey = async (db: Db, workspaceId: WorkspaceId, id: Uuid): Promise<boolean> =>
  (await row(db, sql`select from api_key k where k.workspace_id = ${workspaceId} and k.id = ${id} and ${IS_VALID_KEY} for share of k`)) !==
  null;

/** Writes when keys were last used. Never replaces a time with an earlier one. Uses the primary key. */
export const writeLastUsesAcrossWorkspaces = (db: Db, ids: readonly Uuid[], at: readonly Timestamp[]): Promise<unknown> =>
  rows(
    db,
    sql`
      update api_key k set last_used_at = used.at
      from unnest(${plainArray(ids)}::uuid[], ${textArray(at)}::timestamptz[]) as used (id, at)
      where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)`,
  );
