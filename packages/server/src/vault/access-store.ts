import { type Db, fragment, plainArray, rows, sql, type Timestamp, textArray, type Uuid, type WorkspaceId } from "#kernel";
import type { SealedSecret } from "./envelope.ts";
import { FORMER, FORMER_SINCE } from "./store.ts";

/** The secrets that a group of attempts names. */
export interface SecretsRequest {
  readonly workspaceId: WorkspaceId;
  /** The name of the queue. Null: no queue uses the secrets, so a secret that is limited to some queues is refused. */
  readonly queue: string | null;
  readonly host: string;
  readonly names: readonly string[];
  readonly withFormer: boolean;
  readonly onlySearch: boolean;
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
  /** The values that the secret had before. Null when there are none, or when the request does not want them. */
  readonly former: Buffer | null;
  /** An attempt that began before this time may have got a value that is no longer known. Null when there is no such secret. */
  readonly missingBefore: Timestamp | null;
  /** Which of the secret's limits refuses the request. */
  readonly refused: "queue" | "host" | null;
}

/**
 * The maximum size of ciphertexts that one statement returns. The first request is always answered: 100 secrets of 64 KiB at most, and
 * their former values.
 */
const MAX_BYTES = fragment`2097152`;

/**
 * Reads the secrets of the first requests, as many as fit into `MAX_BYTES`, and records the access in the audit log in the same statement,
 * with one event for each request: `secret.accessed` if it gets all of its secrets, `secret.refused` with those that are not allowed. It
 * locks audit chains in the order of workspaces. For the other requests it reads and records nothing. Uses index secret_name.
 */
export async function accessSecretsAcrossWorkspaces(db: Db, requests: readonly SecretsRequest[]): Promise<FoundSecret[]> {
  const named = requests.flatMap(({ names }, group) => names.map((name) => ({ group, name })));
  const found = await rows<SealedSecret & Pick<FoundSecret, "group" | "refused" | "former" | "missingBefore"> & { id: Uuid | null }>(
    db,
    sql`
      with requested as (
        select * from unnest(${plainArray(requests.map((_, group) => group))}::int[],
          ${plainArray(requests.map(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(requests.map(({ queue }) => queue))}::text[],
          ${textArray(requests.map(({ host }) => host))}::text[], ${plainArray(requests.map(({ eventId }) => eventId))}::uuid[],
          ${textArray(requests.map(({ input }) => input))}::text[], ${plainArray(requests.map(({ withFormer }) => withFormer))}::boolean[],
          ${plainArray(requests.map(({ onlySearch }) => onlySearch))}::boolean[])
          r ("group", workspace_id, queue, host, event_id, input, with_former, only_search)
      ), named as (
        select * from unnest(${plainArray(named.map(({ group }) => group))}::int[], ${textArray(named.map(({ name }) => name))}::text[])
          with ordinality n ("group", name, at)
      ), found as materialized (
        select * from (
          select n."group", n.name, n.at, r.workspace_id, secret.id, secret.ciphertext, secret.wrapped_key, secret.master_key_id, secret.allowed_queues,
            secret.allowed_hosts, case when r.with_former then ${FORMER} end as former,
            greatest(secret.created_at, ${FORMER_SINCE} + interval '5 minutes') as missing_before,
            case when r.only_search then null when r.queue <> all(secret.allowed_queues) or (r.queue is null and secret.allowed_queues is not null) then 'queue'
              when r.host <> all(secret.allowed_hosts) then 'host' end as refused,
            sum(coalesce(octet_length(secret.ciphertext), 0) + case when r.with_former then coalesce(octet_length(secret.former), 0) else 0 end)
              over (order by n."group") as bytes
          from named n join requested r using ("group") left join secret on secret.workspace_id = r.workspace_id and secret.name = n.name
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
      select "group", name, workspace_id, id, ciphertext, wrapped_key, master_key_id, allowed_queues, allowed_hosts, refused, former, missing_before as "missingBefore",
        (select count(*) from audited) as audited
      from found order by at`,
  );
  return found.map(({ group, refused, former, missingBefore, id, ...secret }) => ({
    group,
    name: secret.name,
    sealed: id && { id, ...secret },
    former,
    missingBefore,
    refused,
  }));
}
