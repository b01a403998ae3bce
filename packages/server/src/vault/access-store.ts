import { type Db, plainArray, rows, sql, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";

/** A secret that attempts of one queue ask for together, with those of the same group. */
export interface AskedSecret {
  readonly group: number;
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
  readonly host: string;
  readonly name: string;
  /** Of the audit event that tells it, with what is asked as JSON text. */
  readonly eventId: Uuid;
  readonly input: string;
}

/** What is found of it: null where there is no such secret. */
export interface AnsweredSecret {
  readonly group: number;
  readonly name: string;
  readonly sealed: SealedSecret | null;
  /** What it is not allowed for. */
  readonly refused: "queue" | "host" | null;
}

/**
 * Reads the secrets that are asked for, and tells the audit log in the same statement: `secret.accessed` for each of a group that
 * gets all of its secrets, `secret.refused` for those that are not allowed. Chains are locked in the order of their workspaces.
 * Leans on secret_name.
 */
export async function handOutAcrossWorkspaces(db: Db, asked: readonly AskedSecret[]): Promise<AnsweredSecret[]> {
  const found = await rows<SealedSecret & Pick<AnsweredSecret, "group" | "refused"> & { id: Uuid | null }>(
    db,
    sql`
      with asked as (
        select * from unnest(${plainArray(asked.map(({ group }) => group))}::int[], ${plainArray(asked.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${textArray(asked.map(({ queue }) => queue))}::text[], ${textArray(asked.map(({ host }) => host))}::text[],
          ${textArray(asked.map(({ name }) => name))}::text[], ${plainArray(asked.map(({ eventId }) => eventId))}::uuid[],
          ${textArray(asked.map(({ input }) => input))}::text[])
          with ordinality a ("group", workspace_id, queue, host, name, event_id, input, at)
      ), found as materialized (
        select a.*, s.id, s.ciphertext, s.wrapped_key, s.master_key_id,
          case when a.queue <> all(s.allowed_queues) then 'queue' when a.host <> all(s.allowed_hosts) then 'host' end as refused
        from asked a left join secret s on s.workspace_id = a.workspace_id and s.name = a.name
      ), told as materialized (
        select append_audit_event(workspace_id, event_id, case when refused is null then 'secret.accessed' else 'secret.refused' end,
          'system', 'secret', name, input, null)
        from (
          select f.* from found f
          where (f.refused is not null
              or not exists (select from found other where other."group" = f."group" and (other.id is null or other.refused is not null)))
            and exists (select from workspace w where w.id = f.workspace_id)
          order by workspace_id, at offset 0
        ) fact
      )
      select "group", name, workspace_id, id, ciphertext, wrapped_key, master_key_id, refused, (select count(*) from told) as told
      from found order by at`,
  );
  return found.map(({ group, name, refused, id, workspace_id, ciphertext, wrapped_key, master_key_id }) => ({
    group,
    name,
    sealed: id && { workspace_id, id, name, ciphertext, wrapped_key, master_key_id },
    refused,
  }));
}
