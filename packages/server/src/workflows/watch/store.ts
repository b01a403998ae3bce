import { type Db, plainArray, rows, sql } from "#kernel";
import type { RunKey, StepRow } from "../runs/run.ts";
import { VISIBLE_OUTCOME } from "../runs/run-store.ts";

/** A step with its place in the journal, and that of its last change, which differ for a wait that was cancelled. */
export type PlacedStep = StepRow & { readonly seq: number; readonly changed_seq: number };

/**
 * From now on, all nodes are notified of changes of a run that has not ended (migration 0016): for ten minutes, or longer if another node
 * has said so. It waits for a change that is being stored, which the caller then sees. Uses the primary key.
 */
export const markWatched = (db: Db, { workspaceId, id }: RunKey): Promise<unknown> =>
  rows(
    db,
    sql`
      update run set watched_until = greatest(watched_until, moment() + interval '10 minutes')
      where workspace_id = ${workspaceId} and id = ${id} and ended_at is null`,
  );

/**
 * The total size of outputs and errors of the steps that have changed after each of these places in the journal. Bytes, by place. Uses the
 * primary key.
 */
export async function weighStepsAfter(db: Db, { workspaceId, id }: RunKey, places: Iterable<number>): Promise<ReadonlyMap<number, number>> {
  const ascending = [...new Set(places)].sort((one, other) => one - other);
  const [first] = ascending;
  if (first === undefined) return new Map();
  const between = await rows<{ passed: number; bytes: number }>(
    db,
    sql`
      select width_bucket(coalesce(cancelled_seq, seq) - 1, ${plainArray(ascending)}::int[]) as passed,
        sum(coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0)) as bytes
      from run_step where workspace_id = ${workspaceId} and run_id = ${id} and coalesce(cancelled_seq, seq) > ${first}
      group by passed`,
  );
  const bytesAfter = (index: number) => between.reduce((sum, { passed, bytes }) => (passed > index ? sum + bytes : sum), 0);
  return new Map(ascending.map((place, index) => [place, bytesAfter(index)]));
}

/** Steps that have changed after the place `seq` in the journal, in that order. Uses the primary key. */
export const readStepsAfter = (db: Db, { workspaceId, id }: RunKey, seq: number): Promise<PlacedStep[]> =>
  rows(
    db,
    sql`
      select seq, coalesce(cancelled_seq, seq) as changed_seq, key, type, status, ${VISIBLE_OUTCOME}, attempt, started_at, ended_at, wake_at, signal, child_run_id, undoable from run_step
      where workspace_id = ${workspaceId} and run_id = ${id} and coalesce(cancelled_seq, seq) > ${seq} order by changed_seq`,
  );
