import type { AttemptResult } from "#engine";
import type { Claim } from "#jobs";
import type { JsonParts, RunId, Timestamp, Transactional, WorkspaceId } from "#kernel";
import { type InSlices, journalText } from "../journals/journal-text.ts";
import { type StepRow, showRunId } from "../runs/run.ts";
import { readInputs, readJournals } from "../runs/run-store.ts";
import { findEnded } from "../undo/store.ts";
import { type BegunRun, beginExecutions } from "./execution-store.ts";

/** A claimed execution, with the id of its workflow and the token for its worker. */
export interface ClaimedRun {
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  /** The execution, if it has begun. */
  readonly begun?: BegunRun | undefined;
  readonly workflow: string;
  readonly token: string;
}

/** An execution as JSON text for its worker, with the secrets filled in; or how it ends, because they could not be filled in. */
export type BuiltRun<Filled> = ClaimedRun &
  ({ readonly text: JsonParts; readonly filled: Filled } | { readonly text: null; readonly filled: AttemptResult });

/** Executions that have begun, and those for which the response had no room. */
export interface BuiltRuns<Filled> {
  readonly given: readonly BuiltRun<Filled>[];
  readonly left: readonly ClaimedRun[];
}

/** Whether an execution only undoes the steps of a run that has ended. */
const isUndo = ({ claim }: ClaimedRun): boolean => claim.kind === "undo";

/** The maximum size of inputs and journals in one response, if it has more than one run. Bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What the texts of executions are made with. */
export interface RunTexts<Filled> {
  /** Fills the secrets into an input. */
  readonly fill: (run: ClaimedRun, input: string) => Promise<Filled | AttemptResult>;
  readonly inSlices: InSlices;
}

/**
 * Begins executions. Runs that have ended in the meantime are left out. Of the executions that undo steps of ended runs, those are left out
 * whose runs are gone.
 *
 * @param admit returns whether there is memory for an input and a journal of this many bytes, and takes it. Executions without memory are
 *   left
 */
export async function buildRuns<Filled extends { readonly payload: string }>(
  database: Transactional,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
  { fill, inSlices }: RunTexts<Filled>,
  admit: (bytes: number) => boolean,
): Promise<BuiltRuns<Filled>> {
  if (runs.length === 0) return { given: [], left: [] };
  const begun = await beginAll(database, workspaceId, runs, version);
  const fitting: { readonly run: ClaimedRun; readonly found: BegunRun }[] = [];
  const left: ClaimedRun[] = [];
  let bytes = 0;
  for (const run of runs) {
    const found = begun.get(run.claim.id);
    if (!found) continue;
    if ((fitting.length > 0 && bytes + found.bytes > MAX_BYTES) || !admit(found.bytes)) left.push(run);
    else {
      fitting.push({ run, found });
      bytes += found.bytes;
    }
  }
  const withSteps = fitting.filter(({ found }) => found.steps > 0).map(({ found }) => found.id);
  const long = fitting.filter(({ found }) => found.input === null).map(({ found }) => found.id);
  const [journals, inputs] = await Promise.all([
    withSteps.length > 0 ? readJournals(database, workspaceId, withSteps) : new Map<RunId, StepRow[]>(),
    long.length > 0 ? readInputs(database, workspaceId, long) : new Map<RunId, string>(),
  ]);
  const given = fitting.map(async ({ run, found }): Promise<BuiltRun<Filled>> => {
    const filled = await fill(run, found.input ?? inputs.get(found.id) ?? "null");
    if (!("payload" in filled)) return { ...run, text: null, filled };
    const journal = await journalText(inSlices, journals.get(found.id) ?? []);
    return { ...run, text: runText(run, found, filled.payload, journal), filled };
  });
  return { given: await Promise.all(given), left };
}

/** Begins executions that have not begun. For those that only undo, finds their ended runs. Returns the runs by their ids. */
export async function beginAll(
  database: Transactional,
  workspaceId: WorkspaceId,
  runs: readonly ClaimedRun[],
  version: string | null,
): Promise<ReadonlyMap<string, BegunRun>> {
  const idOf = ({ claim }: ClaimedRun) => claim.id as string as RunId;
  const toBegin = (run: ClaimedRun) => {
    const { laneId, attempt, leaseId } = run.claim;
    return { id: idOf(run), laneId, execution: attempt, leaseId };
  };
  const [undone, executed] = [runs.filter(isUndo), runs.filter((run) => !isUndo(run) && !run.begun)];
  const found = await Promise.all([
    executed.length > 0 ? beginExecutions(database, workspaceId, executed.map(toBegin), version) : [],
    undone.length > 0 ? findEnded(database, workspaceId, undone.map(idOf)) : [],
  ]);
  return new Map([...runs.flatMap(({ begun }) => begun ?? []), ...found.flat()].map((run) => [run.id as string, run]));
}

/** An execution as JSON text. Source: docs/run-protocol.md. */
export const runText = (run: ClaimedRun, found: BegunRun, input: string, journal: JsonParts): JsonParts => [
  `{"runId":"${showRunId(found.id)}","workflowId":${JSON.stringify(run.workflow)},"version":${JSON.stringify(found.version)},` +
    `"attempt":${found.failures + 1},"attempts":${found.attempts},"input":`,
  input,
  `,"trigger":${found.trigger},"createdAt":"${found.created_at}","journal":`,
  ...journal,
  `,${isUndo(run) ? '"undo":true,' : ""}"lease_token":"${run.token}","lease_expires_at":"${run.claim.leaseUntil}"}`,
];
