import { type Db, plainArray, type RunId, rows, sql, textArray } from "#kernel";
import type { LaneKey } from "#lanes";

/** The key of a trigger, and the run that it is to name. */
export interface RunKeyClaim extends LaneKey {
  readonly key: string;
  readonly runId: RunId;
}

const columnsOf = (claims: readonly RunKeyClaim[]) => ({
  workspaceIds: plainArray(claims.map((one) => one.workspaceId)),
  laneIds: plainArray(claims.map((one) => one.laneId)),
  keys: textArray(claims.map((one) => one.key)),
  runIds: plainArray(claims.map((one) => one.runId)),
});

/**
 * Takes the keys of triggers. Returns for each claim the run that its key names: its own, or an earlier one. The insert waits for another
 * transaction that is taking a key. All transactions take keys in the same order. Uses the primary key.
 */
export async function claimRunKeysAcrossWorkspaces(tx: Db, claims: readonly RunKeyClaim[]): Promise<RunId[]> {
  const { workspaceIds, laneIds, keys, runIds } = columnsOf(claims);
  for (;;) {
    const named = await rows<{ run_id: RunId | null }>(
      tx,
      sql`
        with asked as (
          select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${keys}::text[], ${runIds}::uuid[])
            with ordinality c (workspace_id, lane_id, key, run_id, number)
        ), taken as (
          insert into run_key (workspace_id, lane_id, key, run_id)
          select workspace_id, lane_id, key, run_id from asked order by workspace_id, lane_id, key, number
          on conflict do nothing returning run_id
        )
        select case when c.run_id in (select run_id from taken) then c.run_id else k.run_id end as run_id from asked c
        left join run_key k on k.workspace_id = any(array[c.workspace_id]) and k.lane_id = c.lane_id and k.key = c.key
        order by c.number`,
    );
    const found = named.flatMap(({ run_id }) => run_id ?? []);
    // A statement does not see a key that another of its own claims takes, nor a key that was taken or deleted since it began. The next
    // statement does.
    if (found.length === claims.length) return found;
  }
}

/** Frees keys of runs that are not started. Uses index run_key_run. */
export const releaseRunKeysAcrossWorkspaces = (tx: Db, claims: readonly RunKeyClaim[]): Promise<unknown> => {
  const { workspaceIds, runIds } = columnsOf(claims);
  return rows(
    tx,
    sql`
      delete from run_key k using unnest(${workspaceIds}::uuid[], ${runIds}::uuid[]) as c (workspace_id, run_id)
      where k.workspace_id = any(array[c.workspace_id]) and k.run_id = c.run_id`,
  );
};
