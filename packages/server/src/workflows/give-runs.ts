import type { AttemptResult } from "#engine";
import type { Claim } from "#jobs";
import type { Db, RunId, Timestamp, WorkspaceId } from "#kernel";
import { type BegunRun, beginExecutions } from "./execution-store.ts";
import { journalText, showRunId } from "./run.ts";
import { readJournals } from "./run-store.ts";

/** A claimed execution, with the id of its workflow and the token for its worker. */
export interface ClaimedRun {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly workflow: string;
  readonly token: string;
}

/** An execution as JSON text for its worker, with its input filled in; or how it ends, because that could not be done. */
export type GivenRun<Filled> = ClaimedRun &
  ({ readonly text: string; readonly filled: Filled } | { readonly text: null; readonly filled: AttemptResult });

/**
 * Begins executions. Returns those whose run has not ended meanwhile.
 *
 * @param fill fills the secrets into an input
 */
export async function giveRuns<Filled extends { readonly payload: string }>(
  db: Db,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
  fill: (run: ClaimedRun, input: string) => Promise<Filled | AttemptResult>,
): Promise<GivenRun<Filled>[]> {
  if (runs.length === 0) return [];
  const ids = runs.map(({ claim }) => claim.id as string as RunId);
  const begun = new Map((await beginExecutions(db, workspaceId, ids, version)).map((run) => [run.id as string, run]));
  const journals = await readJournals(db, workspaceId, ids);
  const given = runs.map(async (run): Promise<GivenRun<Filled>[]> => {
    const found = begun.get(run.claim.id);
    if (!found) return [];
    const filled = await fill(run, found.input);
    if (!("payload" in filled)) return [{ ...run, text: null, filled }];
    return [{ ...run, text: textOf(run, { ...found, input: filled.payload }, journalText(journals.get(found.id) ?? [])), filled }];
  });
  return (await Promise.all(given)).flat();
}

/** Source: docs/run-protocol.md. */
const textOf = ({ claim, workflow, token }: ClaimedRun, run: BegunRun, journal: string): string =>
  `{"runId":"${showRunId(run.id)}","workflowId":${JSON.stringify(workflow)},"version":${JSON.stringify(run.version)},` +
  `"attempt":${run.failures + 1},"attempts":${run.attempts},"input":${run.input},"trigger":${run.trigger},` +
  `"createdAt":"${run.created_at}","journal":${journal},"lease_token":"${token}","lease_expires_at":"${claim.leaseUntil}"}`;
