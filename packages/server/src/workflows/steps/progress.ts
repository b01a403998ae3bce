import { LIMITS } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { binaryTextArray, type Db, invalid, payloadTooLarge, plainArray, row, rows, type SlicedWork, sql } from "#kernel";
import type { TextRedactor } from "#redaction";
import type { RunKey } from "../runs/run.ts";

/**
 * What a program says about a run's progress, as it is stored: JSON text.
 *
 * @throws VALIDATION_ERROR for a number that JavaScript cannot represent; PAYLOAD_TOO_LARGE
 */
export function readProgress(progress: unknown): string {
  const text = JSON.stringify(progress, (_, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) throw invalid("progress", "must not contain a number as large as 1e400");
    return value;
  });
  if (Buffer.byteLength(text) > LIMITS.progressBytes) throw payloadTooLarge(LIMITS.progressBytes, "progress");
  return text;
}

/** The progress as it is kept: without the secrets of the run's input. Null: nothing is kept, because it cannot be searched for secrets. */
export function* keepProgress(progress: string, redactor: TextRedactor | null): SlicedWork<string | null> {
  return redactor ? yield* redactor.json(progress, LIMITS.progressBytes) : progress;
}

/**
 * Replaces the progress of a run; null leaves it as it is. Locks the job before the run, as a settle does. Returns the number of the run's
 * steps. If the claim no longer holds, nothing is stored and null is returned. Uses the primary keys.
 */
export const storeProgress = async (
  db: Db,
  { workspaceId, id }: RunKey,
  claim: NamedClaim,
  progress: string | null,
): Promise<number | null> => {
  const stored = await row<{ steps: number }>(
    db,
    sql`
      with held as (
        select from job where workspace_id = ${workspaceId} and lane_id = ${claim.laneId} and id = ${id} and state = 'active'
          and lease_id is not distinct from ${claim.leaseId}::bigint and attempt = ${claim.attempt}
        for share
      )
      update run set progress = coalesce(${progress}, progress)
      where workspace_id = ${workspaceId} and id = ${id} and exists (select from held)
      returning steps`,
  );
  return stored?.steps ?? null;
};

/** The progress that a run has reported: JSON text. */
export interface ProgressToStore extends RunKey {
  readonly progress: string;
}

/** Replaces the progress of runs whose jobs are locked. Uses the primary key. */
export const storeProgressAcrossWorkspaces = (tx: Db, runs: readonly ProgressToStore[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      update run r set progress = p.progress
      from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
        ${binaryTextArray(runs.map((one) => one.progress))}::text[]) as p (workspace_id, id, progress)
      where r.workspace_id = any(array[p.workspace_id]) and r.id = p.id`,
  );
