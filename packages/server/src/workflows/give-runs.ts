import type { Claim } from "#jobs";
import type { JobId, RunId, Timestamp, Transactional, WorkspaceId } from "#kernel";
import { type BegunRun, beginExecutions } from "./execution-store.ts";
import { journalText, type StepRow, showRunId } from "./run.ts";
import { readInputs, readJournals } from "./run-store.ts";

/** A claimed execution, with the id of its workflow and the token for its worker. */
export interface ClaimedRun {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly workflow: string;
  readonly token: string;
}

/** Executions that have begun, as JSON texts by their jobs, and those for which the response had no room. */
export interface GivenRuns {
  readonly texts: ReadonlyMap<JobId, string>;
  readonly left: readonly ClaimedRun[];
}

/** Inputs and journals in one response, if it has more than one run. Bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Begins executions. Runs that have ended meanwhile are left out. */
export async function giveRuns(
  database: Transactional,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
): Promise<GivenRuns> {
  if (runs.length === 0) return { texts: new Map(), left: [] };
  const ids = runs.map(({ claim }) => claim.id as string as RunId);
  const begun = new Map((await beginExecutions(database, workspaceId, ids, version)).map((run) => [run.id as string, run]));
  const fitting: ClaimedRun[] = [];
  const left: ClaimedRun[] = [];
  let bytes = 0;
  for (const run of runs) {
    const found = begun.get(run.claim.id);
    if (!found) continue;
    bytes += found.bytes;
    if (fitting.length > 0 && bytes > MAX_BYTES) left.push(run);
    else fitting.push(run);
  }
  const given = fitting.flatMap(({ claim }) => begun.get(claim.id) ?? []);
  const withSteps = given.filter(({ steps }) => steps > 0).map(({ id }) => id);
  const long = given.filter(({ input }) => input === null).map(({ id }) => id);
  const [journals, inputs] = await Promise.all([
    withSteps.length > 0 ? readJournals(database, workspaceId, withSteps) : new Map<RunId, StepRow[]>(),
    long.length > 0 ? readInputs(database, workspaceId, long) : new Map<RunId, string>(),
  ]);
  const texts = fitting.flatMap((run): [JobId, string][] => {
    const found = begun.get(run.claim.id);
    const input = found && (found.input ?? inputs.get(found.id));
    return found && input !== undefined ? [[run.claim.id, textOf(run, found, input, journalText(journals.get(found.id) ?? []))]] : [];
  });
  return { texts: new Map(texts), left };
}

/** Source: docs/run-protocol.md. */
const textOf = ({ claim, workflow, token }: ClaimedRun, run: BegunRun, input: string, journal: string): string =>
  `{"runId":"${showRunId(run.id)}","workflowId":${JSON.stringify(workflow)},"version":${JSON.stringify(run.version)},` +
  `"attempt":${run.failures + 1},"attempts":${run.attempts},"input":${input},"trigger":${run.trigger},` +
  `"createdAt":"${run.created_at}","journal":${journal},"lease_token":"${token}","lease_expires_at":"${claim.leaseUntil}"}`;
