import { type Db, fragment, plainArray, rows, sql, type Timestamp, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";

/** The secrets that a group of attempts names. */
export interface SecretsRequest {
  readonly workspaceId: WorkspaceId;
  /** Null: no queue uses them, so that a secret for some queues is refused. */
  readonly queue: string | null;
  readonly host: string;
  readonly names: readonly string[];
  /** The id of its audit event. */
  readonly eventId: Uuid;
  /** The input of its audit event, as JSON text of an object. The statement adds `secrets`, the names. */
  readonly input: string;
}

/** What the store found for one name of a request. */
export interface FoundSecret {
  /** Index of the request. */
  readonly group: number;
  readonly name: string;
  /** Null when there is no such secret. */
  readonly sealed: SealedSecret | null;
  /** When it got its value. Null when there is no such secret. */
  readonly changedAt: Timestamp | null;
  /** Which of the secret's limits refuses the request. */
  readonly refused: "queue" | "host" | null;
}

/** Bytes of ciphertexts that one statement returns. The first request is answered whatever it needs: 100 secrets of 64 KiB at most. */
const MAX_BYTES = fragment`2097152`;

/**
 * Reads the secrets of the first requests, as many as fit into `MAX_BYTES`, and records the access in the audit log by the same
 * statement, with one event for each request: `secret.accessed` if it gets all of its secrets, `secret.refused` with those that are not
 * allowed. It locks audit chains in the order of workspaces. For the other requests it finds and records nothing. Uses index secret_name.
 */
export async function accessSecretsAcrossWorkspaces(db: Db, requests: readonly SecretsRequest[]): Promise<FoundSecret[]> {
  const named = requests.flatMap(({ names }, group) => names.map((name) => ({ group, name })));
  const found = await rows<SealedSecret & Pick<FoundSecret, "group" | "refused" | "changedAt"> & { id: Uuid | null }>(
    db,
    sql`
      with requested as (
        select * from unnest(${plainArray(requests.map((_, group) => group))}::int[],
          ${plainArray(requests.map(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(requests.map(({ queue }) => queue))}::text[],
          ${textArray(requests.map(({ host }) => host))}::text[], ${plainArray(requests.map(({ eventId }) => eventId))}::uuid[],
          ${textArray(requests.map(({ input }) => input))}::text[]) r ("group", workspace_id, queue, host, event_id, input)
      ), named as (
        select * from unnest(${plainArray(named.map(({ group }) => group))}::int[], ${textArray(named.map(({ name }) => name))}::text[])
          with ordinality n ("group", name, at)
      ), found as materialized (
        select * from (
          select n."group", n.name, n.at, r.workspace_id, s.id, s.updated_at, s.ciphertext, s.wrapped_key, s.master_key_id, s.allowed_queues, s.allowed_hosts,
            case when r.queue <> all(s.allowed_queues) or (r.queue is null and s.allowed_queues is not null) then 'queue' when r.host <> all(s.allowed_hosts) then 'host' end as refused,
            sum(coalesce(octet_length(s.ciphertext), 0)) over (order by n."group") as bytes
          from named n join requested r using ("group") left join secret s on s.workspace_id = r.workspace_id and s.name = n.name
        ) measured
        where bytes <= ${MAX_BYTES} or "group" = 0
      ), outcome as (
        select "group", count(refused) > 0 as refused, count(id) = count(*) as complete,
          coalesce(array_agg(name order by at) filter (where refused is not null), array_agg(name order by at)) as names
        from found group by "group"
      ), audited as materialized (
        select append_audit_event(workspace_id, event_id, case when refused then 'secret.refused' else 'secret.accessed' end, 'system', 'secret',
          case when cardinality(names) = 1 then names[1] end, left(input, -1) || ',"secrets":' || array_to_json(names) || '}', null)
        from (
          select r.workspace_id, r.event_id, r.input, o.refused, o.names from outcome o join requested r using ("group")
          where (o.refused or o.complete) and exists (select from workspace w where w.id = r.workspace_id)
          order by r.workspace_id, "group" offset 0
        ) event
      )
      select "group", name, workspace_id, id, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts, refused, updated_at as "changedAt",
        (select count(*) from audited) as audited
      from found order by at`,
  );
  return found.map(({ group, refused, changedAt, id, ...secret }) => ({
    group,
    name: secret.name,
    sealed: id && { id, ...secret },
    changedAt,
    refused,
  }));
}
