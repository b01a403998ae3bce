import { LIMITS } from "@tidemill/contract";
import type { AttemptMemory } from "#engine";
import { lengthOfParts, type RunId, type Transactional, type WorkspaceId } from "#kernel";
import { journalText } from "../journals/journal-text.ts";
import type { StepRow } from "../runs/run.ts";
import { readInputs, readJournals } from "../runs/run-store.ts";
import { type BuiltRun, beginAll, type ClaimedRun, type RunTexts, runText } from "./build-runs.ts";
import type { BegunRun } from "./execution-store.ts";

/** An execution that is sent, the memory for its input and journal, and how long it may take. */
type RunToPush = ClaimedRun & { readonly memory: AttemptMemory; readonly timeoutMs: number };

/** A step is at least as long as JSON text, besides its output and error. Bytes. */
const MIN_STEP_BYTES = 150;

/** Whether a journal may be short enough to be sent. */
const mayBeSent = ({ journalBytes, steps }: BegunRun): boolean => journalBytes + steps * MIN_STEP_BYTES <= LIMITS.pushedJournalBytes;

/**
 * Begins executions that are sent to an endpoint, as `buildRuns` does for those of workers. A journal that is too large to be sent is null.
 * Executions for which there is no memory are left out.
 *
 * @returns functions that make the text of each run, by the id of its job. This may take long, and no run has to wait for the text of
 *   another
 */
export async function pushRuns<Filled extends { readonly payload: string }>(
  database: Transactional,
  workspaceId: WorkspaceId,
  runs: readonly RunToPush[],
  version: string | null,
  { fill, inSlices }: RunTexts<Filled>,
): Promise<ReadonlyMap<string, () => Promise<BuiltRun<Filled>>>> {
  const begun = await beginAll(database, workspaceId, runs, version);
  const admitted = runs.flatMap((run) => {
    const one = begun.get(run.claim.id);
    return one && run.memory.tryTake(mayBeSent(one) ? one.bytes : one.inputBytes) ? [{ run, one }] : [];
  });
  const found = admitted.map(({ one }) => one);
  const short = found.filter((one) => one.steps > 0 && mayBeSent(one)).map(({ id }) => id);
  const long = found.filter(({ input }) => input === null).map(({ id }) => id);
  const [journals, inputs] = await Promise.all([
    short.length > 0 ? readJournals(database, workspaceId, short) : new Map<RunId, StepRow[]>(),
    long.length > 0 ? readInputs(database, workspaceId, long) : new Map<RunId, string>(),
  ]);
  const give = async ({ run, one }: (typeof admitted)[number]): Promise<BuiltRun<Filled>> => {
    const filled = await fill(run, one.input ?? inputs.get(one.id) ?? "null");
    if (!("payload" in filled)) return { ...run, text: null, filled };
    const journal = mayBeSent(one) ? await journalText(inSlices, journals.get(one.id) ?? []) : null;
    const isSent = journal !== null && lengthOfParts(journal) <= LIMITS.pushedJournalBytes;
    const [first = "", ...rest] = runText(run, one, filled.payload, isSent ? journal : ["null"]);
    const own = `"kind":"run","timeout":${run.timeoutMs / 1_000},${isSent ? "" : `"journalSteps":${one.steps},`}`;
    return { ...run, begun: one, text: [`{${own}${first.slice(1)}`, ...rest], filled };
  };
  return new Map(admitted.map((each) => [each.run.claim.id, () => give(each)]));
}
