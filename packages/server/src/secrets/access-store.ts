import { type Db, plainArray, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";

/** A secret with what limits its use; null does not. */
export interface StoredSecret extends SealedSecret {
  readonly allowed_queues: readonly string[] | null;
  readonly allowed_hosts: readonly string[] | null;
}

/** Those of the named secrets that there are, in any order. Leans on secret_name. */
export const findSecretsAcrossWorkspaces = (
  db: Db,
  wanted: readonly { workspaceId: WorkspaceId; name: string }[],
): Promise<StoredSecret[]> =>
  rows(
    db,
    sql`
      select s.workspace_id, s.id, s.name, s.ciphertext, s.wrapped_key, s.master_key_id, s.allowed_queues, s.allowed_hosts
      from unnest(${plainArray(wanted.map(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(wanted.map(({ name }) => name))}::text[])
        w (workspace_id, name)
      join secret s on s.workspace_id = w.workspace_id and s.name = w.name`,
  );
