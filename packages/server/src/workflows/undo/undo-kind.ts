import type { RunError } from "@tidemill/contract";
import type { JobKind, Outcome } from "#engine";
import type { Db, RunId } from "#kernel";
import { servedByWorkers } from "../served-by-workers.ts";
import { recordLeftUndos } from "./store.ts";

/** The kind of the jobs that undo the steps of runs that have ended. Whatever comes of it, the status of the run stays. */
export const undoKind: JobKind = {
  name: "undo",
  recorded: false,
  deliverer: servedByWorkers,
  async settled(tx, outcomes) {
    for (const outcome of outcomes) await settleUndo(tx, outcome);
  },
};

/** An execution reports the outcome of each undo. What it has left out when it ends for good could not be undone. */
async function settleUndo(tx: Db, { claim, verdict }: Outcome): Promise<void> {
  if (verdict.kind !== "complete" && verdict.kind !== "fail") return;
  const error: RunError =
    verdict.kind === "fail"
      ? { name: verdict.error.code, message: verdict.error.message }
      : { name: "UndoError", message: "The worker did not undo it." };
  await recordLeftUndos(tx, { workspaceId: claim.workspaceId, id: claim.id as string as RunId }, JSON.stringify(error));
}
