import { LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import type { RunId, Transactional, WorkspaceId } from "#kernel";
import { beginAll, type ClaimedRun, type GivenRun, runText } from "./give-runs.ts";
import { type StepRow, showJournal } from "./run.ts";
import { readInputs, readJournals } from "./run-store.ts";

/**
 * Begins executions that are sent to an endpoint, as `giveRuns` does for those of workers. A journal that is too large to be sent is null.
 *
 * @param fill fills the secrets into an input
 */
export async function pushRuns<Filled extends { readonly payload: string }>(
  database: Transactional,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
  fill: (run: ClaimedRun, input: string) => Promise<Filled | AttemptResult>,
): Promise<GivenRun<Filled>[]> {
  const begun = await beginAll(database, workspaceId, runs, version);
  const found = [...begun.values()];
  const short = found.filter(({ steps, journalBytes }) => steps > 0 && journalBytes <= LIMITS.pushedJournalBytes).map(({ id }) => id);
  const long = found.filter(({ input }) => input === null).map(({ id }) => id);
  const [journals, inputs] = await Promise.all([
    short.length > 0 ? readJournals(database, workspaceId, short) : new Map<RunId, StepRow[]>(),
    long.length > 0 ? readInputs(database, workspaceId, long) : new Map<RunId, string>(),
  ]);
  const given = runs.map(async (run): Promise<GivenRun<Filled>[]> => {
    const one = begun.get(run.claim.id);
    if (!one) return [];
    const filled = await fill(run, one.input ?? inputs.get(one.id) ?? "null");
    if (!("payload" in filled)) return [{ ...run, text: null, filled }];
    const isSent = one.journalBytes <= LIMITS.pushedJournalBytes;
    const [first = "", ...rest] = runText(run, one, filled.payload, isSent ? showJournal(journals.get(one.id) ?? []) : ["null"]);
    return [{ ...run, text: [`{"kind":"run",${isSent ? "" : `"journalSteps":${one.steps},`}${first.slice(1)}`, ...rest], filled }];
  });
  return (await Promise.all(given)).flat();
}
