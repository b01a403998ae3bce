import type { Db, JobId, RunId, WorkspaceId } from "#kernel";
import { type ClaimedRun, runText } from "../give-runs.ts";
import { journalText } from "../run.ts";
import { readJournals } from "../run-store.ts";
import { findEnded } from "./store.ts";

/** Executions that undo steps, as JSON texts for their worker, by their jobs; without those whose run is gone. */
export async function giveUndos(db: Db, workspaceId: WorkspaceId, undos: readonly ClaimedRun[]): Promise<ReadonlyMap<JobId, string>> {
  if (undos.length === 0) return new Map();
  const ids = undos.map(({ claim }) => claim.id as string as RunId);
  const runs = new Map((await findEnded(db, workspaceId, ids)).map((run) => [run.id as string, run]));
  const journals = await readJournals(db, workspaceId, ids);
  const texts = new Map<JobId, string>();
  for (const undo of undos) {
    const run = runs.get(undo.claim.id);
    if (run) texts.set(undo.claim.id, runText(undo, run, journalText(journals.get(run.id) ?? []), true));
  }
  return texts;
}
