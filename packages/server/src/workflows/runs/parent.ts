import type { Claim, JobKey } from "#jobs";
import { type Db, type JobId, plainArray, type RunId, rows, sql } from "#kernel";
import type { LaneId } from "#lanes";
import { LIVE, type RunKey, WAITS_FOR_CODE } from "./run.ts";

/** The run whose step started a run, and waits for it. */
export interface Parent {
  readonly laneId: LaneId;
  readonly id: RunId;
  readonly depth: number;
}

/** The payload of a run's job: it names the parent, so that a settle knows which other job to lock. */
export const runPayload = (parent: Pick<Parent, "laneId" | "id"> | undefined): string =>
  parent ? JSON.stringify({ parent: { laneId: parent.laneId, id: parent.id } }) : "{}";

/** The job of the parent of a run, from the payload of the run's job. */
export function parentJobOf({ workspaceId, payload }: Pick<Claim, "workspaceId" | "payload">): JobKey[] {
  const { parent } = JSON.parse(payload || "{}") as { readonly parent?: Pick<Parent, "laneId" | "id"> };
  return parent ? [{ workspaceId, laneId: parent.laneId, id: parent.id as string as JobId }] : [];
}

/**
 * The jobs of runs that wait, in a step, for one of these runs: the jobs to lock. Runs that wait for other code stay as they are: they find
 * the outcome when they resume. Uses the primary keys and index run_step_child.
 *
 * @param suspended whether to return suspended runs only: these resume. A run that waits for its next attempt keeps waiting for that
 */
export async function findAwaitingParents(tx: Db, children: readonly RunKey[], suspended = false): Promise<JobKey[]> {
  const found = await rows<{ workspace_id: JobKey["workspaceId"]; lane_id: LaneId; id: JobId }>(
    tx,
    sql`
      select distinct r.workspace_id, r.lane_id, r.id
      from unnest(${plainArray(children.map((one) => one.workspaceId))}::uuid[], ${plainArray(children.map((one) => one.id))}::uuid[])
        as u (workspace_id, id)
      cross join lateral (
        select c.parent_run_id from run c where c.workspace_id = any(array[u.workspace_id]) and c.id = u.id and c.parent_run_id is not null offset 0
      ) c
      cross join lateral (
        select r.workspace_id, r.lane_id, r.id from run r
        where r.workspace_id = any(array[u.workspace_id]) and r.id = c.parent_run_id and r.${LIVE}
          and (not ${suspended}::boolean or r.status in ('sleeping', 'waiting'))
          and not ${WAITS_FOR_CODE}
          and exists (
            select from run_step s
            where s.workspace_id = any(array[u.workspace_id]) and s.child_run_id = u.id and s.run_id is not distinct from r.id and s.status = 'waiting'
            offset 0)
        offset 0
      ) r`,
  );
  return found.map(({ workspace_id: workspaceId, lane_id: laneId, id }) => ({ workspaceId, laneId, id }));
}
