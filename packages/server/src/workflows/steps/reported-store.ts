import type { JobKind } from "#engine";
import type { NamedClaim } from "#jobs";
import { type Db, plainArray, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import type { RunKey } from "../runs/run.ts";

/** An execution of a run, or one that undoes its steps: the attempt of its job. */
export interface ExecutionOfRun extends RunKey {
  readonly execution: number;
}

/** An outcome of an execution that is stored as its program reported it. */
export interface ReportedExecution {
  /** The index of its claim in the given list. */
  readonly index: number;
  readonly workflow: string;
}

/**
 * Finds which of these claims of runs have an outcome that is stored as their program reported it. For each run, only the last outcome is
 * known. Uses the primary keys.
 */
export const findReportedAcrossWorkspaces = (
  db: Db,
  claims: readonly (LaneKey & Pick<NamedClaim, "id" | "attempt">)[],
): Promise<ReportedExecution[]> =>
  rows(
    db,
    sql`
      select (c.number - 1)::int as index, lane.name as workflow
      from unnest(${plainArray(claims.map((one) => one.workspaceId))}::uuid[], ${plainArray(claims.map((one) => one.laneId))}::bigint[],
        ${plainArray(claims.map((one) => one.id))}::uuid[], ${plainArray(claims.map((one) => one.attempt))}::int[])
        with ordinality c (workspace_id, lane_id, id, attempt, number)
      join lane on lane.workspace_id = any(array[c.workspace_id]) and lane.id = c.lane_id
      cross join lateral (
        select from run r
        where r.workspace_id = c.workspace_id and r.id = c.id and r.lane_id is not distinct from c.lane_id and r.reported_execution = c.attempt offset 0
      ) r`,
  );

/** Which outcomes of executions are stored as their programs reported them. */
export const findStoredOutcomes: NonNullable<JobKind["findStored"]> = async (db, outcomes) => {
  const found = await findReportedAcrossWorkspaces(
    db,
    outcomes.map(({ claim }) => claim),
  );
  const stored = new Set(found.map(({ index }) => index));
  return outcomes.map((_, index) => stored.has(index));
};

/** Records that the outcomes of these executions are stored as their programs reported them. Uses the primary key. */
export function recordReportedAcrossWorkspaces(tx: Db, executions: readonly ExecutionOfRun[]): Promise<unknown> {
  const ids = plainArray(executions.map((one) => one.id));
  return rows(
    tx,
    sql`
      update run r set reported_execution = e.execution
      from unnest(${plainArray(executions.map((one) => one.workspaceId))}::uuid[], ${ids}::uuid[],
        ${plainArray(executions.map((one) => one.execution))}::int[]) as e (workspace_id, id, execution)
      where r.workspace_id = any(array[e.workspace_id]) and r.id = any(${ids}::uuid[]) and r.id = e.id`,
  );
}
