import type { Limits, Plan, Role } from "@tidemill/contract";
import type { Principal } from "#http";
import { type Db, row, sql, type Timestamp, type Uuid, type WorkspaceId } from "#kernel";

interface WorkspaceRow extends Limits {
  id: WorkspaceId;
  name: string;
  plan: Plan;
  created_at: Timestamp;
}

export const insertWorkspace = (db: Db, id: WorkspaceId, name: string, plan: Plan, limits: Limits): Promise<WorkspaceRow | null> =>
  row(
    db,
    sql`
      insert into workspace (id, name, plan, executions_per_month, requests_per_minute, retention_days)
      values (${id}, ${name}, ${plan}, ${limits.executions_per_month}, ${limits.requests_per_minute}, ${limits.retention_days})
      returning id, name, plan, executions_per_month, requests_per_minute, retention_days, created_at`,
  );

export const lockFirstWorkspace = (db: Db): Promise<unknown> => row(db, sql`select pg_advisory_xact_lock(7305512010)`);

export const anyWorkspace = async (db: Db): Promise<boolean> =>
  (await row<{ there: boolean }>(db, sql`select exists (select from workspace) as there`))?.there ?? false;

interface KeyRow {
  id: Uuid;
  name: string;
  role: Role;
  expires_at: Timestamp | null;
  created_at: Timestamp;
}

/** Nothing when the workspace does not exist. */
export const insertKey = (
  db: Db,
  key: { id: Uuid; workspaceId: WorkspaceId; name: string; role: Role; hash: Buffer; expiresAt: string | null },
): Promise<KeyRow | null> =>
  row(
    db,
    sql`
      insert into api_key (id, workspace_id, name, role, hash, expires_at)
      select ${key.id}, id, ${key.name}, ${key.role}, ${key.hash}, ${key.expiresAt} from workspace where id = ${key.workspaceId}
      returning id, name, role, expires_at, created_at`,
  );

/** Whom a key stands for that is neither revoked nor expired. Leans on api_key_hash_key. */
export const findPrincipalAcrossWorkspaces = (db: Db, hash: Buffer): Promise<Principal | null> =>
  row(
    db,
    sql`
      select k.id as "keyId", k.workspace_id as "workspaceId", k.role, w.plan, w.requests_per_minute as "requestsPerMinute",
        w.executions_per_month as "executionsPerMonth"
      from api_key k join workspace w on w.id = k.workspace_id and w.deleted_at is null
      where k.hash = ${hash} and k.revoked_at is null and (k.expires_at is null or k.expires_at > moment())`,
  );
