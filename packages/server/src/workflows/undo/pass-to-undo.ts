import { changeKindOfHeld, type JobKey } from "#jobs";
import type { Db } from "#kernel";
import type { LaneKey } from "#lanes";
import type { RunEnd } from "../executions/end-store.ts";
import type { RunKey } from "../runs/run.ts";
import { enqueueUndos, UNDO_ATTEMPTS } from "./enqueue-undos.ts";
import { findLeftAcrossWorkspaces, findUndosAcrossWorkspaces } from "./store.ts";

/**
 * Lets an execution continue that has begun to undo the steps of its run, while the run is cancelled: another execution would call the undo
 * that is in progress a second time. The locked job of the execution becomes the undo of the run, under the same claim. Null: no execution
 * has begun to undo.
 */
export async function passToUndo(tx: Db, run: RunKey, job: JobKey): Promise<{ attempt: number } | null> {
  const hasBegun = (await findUndosAcrossWorkspaces(tx, [run])).get(run.id)?.error;
  return hasBegun ? changeKindOfHeld(tx, job, "undo", UNDO_ATTEMPTS) : null;
}

/**
 * Enqueues undos of what these executions have left. Their runs were cancelled in the meantime. A program that undoes does not know about
 * the cancel, and ends as an execution of the run. Returns the lanes of the undos.
 */
export async function undoTheRest(tx: Db, ends: readonly RunEnd[]): Promise<readonly LaneKey[]> {
  const left = await findLeftAcrossWorkspaces(tx, ends);
  const executionsOf = new Map(ends.map(({ id, executions }) => [id, executions]));
  const toUndo = left.map((run) => ({ ...run, executions: executionsOf.get(run.id) ?? 0 }));
  if (toUndo.length > 0) await enqueueUndos(tx, toUndo);
  return left;
}
