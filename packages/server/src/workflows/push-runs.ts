import { LIMITS } from "@tidemill/contract";
import { type Db, type JobId, plainArray, type RunId, rows, sql, type WorkspaceId } from "#kernel";
import { beginExecutions } from "./execution-store.ts";
import { type ClaimedRun, runText } from "./give-runs.ts";
import { STEP_BYTES } from "./journal-store.ts";
import { journalText, type StepRow } from "./run.ts";

/**
 * Begins executions that are sent to an endpoint. Returns them as JSON texts, by their jobs; without those whose run has ended meanwhile. A
 * journal that is too large to be sent is null.
 */
export async function pushRuns(
  db: Db,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
): Promise<ReadonlyMap<JobId, string>> {
  const ids = runs.map(({ claim }) => claim.id as string as RunId);
  const begun = new Map((await beginExecutions(db, workspaceId, ids, version)).map((run) => [run.id as string, run]));
  const journals = await readShortJournals(db, workspaceId, ids, LIMITS.pushedJournalBytes);
  const texts = new Map<JobId, string>();
  for (const run of runs) {
    const found = begun.get(run.claim.id);
    if (!found) continue;
    const journal = journals.get(found.id);
    const text = runText(run, found, journal === null ? "null" : journalText(journal ?? []));
    texts.set(run.claim.id, `{"kind":"run",${text.slice(1)}`);
  }
  return texts;
}

/**
 * The journals of runs, as `readJournals` returns them. Null for one that has more than `maxBytes`; absent for an empty one. Uses the
 * primary key.
 */
async function readShortJournals(
  db: Db,
  workspaceId: WorkspaceId,
  ids: readonly RunId[],
  maxBytes: number,
): Promise<ReadonlyMap<RunId, StepRow[] | null>> {
  const steps = await rows<StepRow & { run_id: RunId; fits: boolean }>(
    db,
    sql`
      with measured as (
        select s.workspace_id, s.run_id, sum(${STEP_BYTES}) <= ${maxBytes} as fits from run_step s
        where s.workspace_id = ${workspaceId} and s.run_id = any(${plainArray(ids)}::uuid[]) group by s.workspace_id, s.run_id
      )
      select m.run_id, m.fits, s.key, s.type, s.status, s.output, s.error, s.attempt, s.started_at, s.ended_at, s.wake_at, s.signal
      from measured m
      left join run_step s on m.fits and s.workspace_id = any(array[m.workspace_id]) and s.run_id = m.run_id
      order by m.run_id, s.status = 'waiting', s.seq`,
  );
  const journals = Map.groupBy(steps, ({ run_id }) => run_id);
  return new Map([...journals].map(([id, journal]) => [id, journal[0]?.fits ? journal : null]));
}
