import { type Db, plainArray, rows, sql, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";

/** A secret that a group of attempts names. */
export interface SecretRequest {
  /** Index of the group. */
  readonly group: number;
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
  readonly host: string;
  readonly name: string;
  /** The id of its audit event. */
  readonly eventId: Uuid;
  /** The input of its audit event, as JSON text. */
  readonly input: string;
}

/** What the store found for a request. */
export interface FoundSecret {
  readonly group: number;
  readonly name: string;
  /** Null when there is no such secret. */
  readonly sealed: SealedSecret | null;
  /** Which of its limits refuses the request. */
  readonly refused: "queue" | "host" | null;
}

/**
 * Reads the requested secrets, and records the access in the audit log by the same statement: `secret.accessed` for each secret of a
 * group that gets all of its secrets, `secret.refused` for each that is not allowed. It locks audit chains in the order of workspaces.
 * Uses index secret_name.
 */
export async function accessSecretsAcrossWorkspaces(db: Db, requests: readonly SecretRequest[]): Promise<FoundSecret[]> {
  const found = await rows<SealedSecret & Pick<FoundSecret, "group" | "refused"> & { id: Uuid | null }>(
    db,
    sql`
      with requested as (
        select * from unnest(${plainArray(requests.map(({ group }) => group))}::int[], ${plainArray(requests.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${textArray(requests.map(({ queue }) => queue))}::text[], ${textArray(requests.map(({ host }) => host))}::text[],
          ${textArray(requests.map(({ name }) => name))}::text[], ${plainArray(requests.map(({ eventId }) => eventId))}::uuid[],
          ${textArray(requests.map(({ input }) => input))}::text[])
          with ordinality a ("group", workspace_id, queue, host, name, event_id, input, at)
      ), found as materialized (
        select r.*, s.id, s.ciphertext, s.wrapped_key, s.master_key_id, s.allowed_queues, s.allowed_hosts,
          case when r.queue <> all(s.allowed_queues) then 'queue' when r.host <> all(s.allowed_hosts) then 'host' end as refused
        from requested r left join secret s on s.workspace_id = r.workspace_id and s.name = r.name
      ), audited as materialized (
        select append_audit_event(workspace_id, event_id, case when refused is null then 'secret.accessed' else 'secret.refused' end,
          'system', 'secret', name, input, null)
        from (
          select f.* from found f
          where (f.refused is not null
              or not exists (select from found other where other."group" = f."group" and (other.id is null or other.refused is not null)))
            and exists (select from workspace w where w.id = f.workspace_id)
          order by workspace_id, at offset 0
        ) event
      )
      select "group", name, workspace_id, id, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts, refused,
        (select count(*) from audited) as audited
      from found order by at`,
  );
  return found.map(({ group, refused, id, ...secret }) => ({ group, name: secret.name, sealed: id && { id, ...secret }, refused }));
}
