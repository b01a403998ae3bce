import { type Db, rows, sql } from "#kernel";
import type { RunKey, StepRow } from "../run.ts";

/** A step with its place in the journal. */
export type PlacedStep = StepRow & { readonly seq: number };

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

/** Steps whose place in the journal is after `seq`, in their order. Uses the primary key. */
export const readStepsAfter = (db: Db, { workspaceId, id }: RunKey, seq: number): Promise<PlacedStep[]> =>
  rows(
    db,
    sql`
      select seq, key, type, status, output, error, attempt, started_at, ended_at, wake_at, signal, undoable from run_step
      where workspace_id = ${workspaceId} and run_id = ${id} and seq > ${seq} order by seq`,
  );
