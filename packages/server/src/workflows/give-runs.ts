import type { Claim } from "#jobs";
import type { Db, JobId, RunId, Timestamp, WorkspaceId } from "#kernel";
import { type BegunRun, beginExecutions } from "./execution-store.ts";
import { journalText, showRunId } from "./run.ts";
import { readJournals } from "./run-store.ts";

/** A claimed execution, with the id of its workflow and the token for its worker. */
export interface ClaimedRun {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly workflow: string;
  readonly token: string;
}

/** Begins executions. Returns them as JSON texts for their worker, by their jobs; without those whose run has ended meanwhile. */
export async function giveRuns(
  db: Db,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
): Promise<ReadonlyMap<JobId, string>> {
  if (runs.length === 0) return new Map();
  const ids = runs.map(({ claim }) => claim.id as string as RunId);
  const begun = new Map((await beginExecutions(db, workspaceId, ids, version)).map((run) => [run.id as string, run]));
  const journals = await readJournals(db, workspaceId, ids);
  const texts = new Map<JobId, string>();
  for (const run of runs) {
    const found = begun.get(run.claim.id);
    if (found) texts.set(run.claim.id, runText(run, found, journalText(journals.get(found.id) ?? [])));
  }
  return texts;
}

/** An execution for its worker. Source: docs/run-protocol.md. */
export const runText = ({ claim, workflow, token }: ClaimedRun, run: BegunRun, journal: string, undo = false): string =>
  `{"runId":"${showRunId(run.id)}","workflowId":${JSON.stringify(workflow)},"version":${JSON.stringify(run.version)},` +
  `"attempt":${run.failures + 1},"attempts":${run.attempts},"input":${run.input},"trigger":${run.trigger},` +
  `"createdAt":"${run.created_at}","journal":${journal},${undo ? '"undo":true,' : ""}"lease_token":"${token}","lease_expires_at":"${claim.leaseUntil}"}`;
