import { cutPage, type Db, type JsonParts, type RunId, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { type ListedRunRow, listRuns } from "../runs/list-runs.ts";
import { showRunId } from "../runs/run.ts";
import { readInputs, readJournals, weighRuns } from "../runs/run-store.ts";
import { type InSlices, journalText } from "./journal-text.ts";

/** Runs that have begun and have not ended. */
const IN_FLIGHT = ["running", "sleeping", "waiting"] as const;
/** The maximum size of journals and inputs in a page, unless its first run has more. Bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * A page of the runs in flight of a workflow with their journals, newest first, as JSON texts.
 *
 * @param hold waits for memory for the page, before it is read
 */
export async function listJournals(
  db: Db,
  workspaceId: WorkspaceId,
  laneId: LaneId,
  { after, limit }: { readonly after: RunId | null; readonly limit: number },
  hold: (bytes: number) => Promise<void>,
  inSlices: InSlices,
): Promise<{ texts: JsonParts[]; next: RunId | null }> {
  const found = await listRuns(db, { workspaceId, laneId, statuses: IN_FLIGHT, before: after, limit: limit + 1 });
  const { records, next } = cutPage(found, limit, ({ id }) => id);
  if (records.length === 0) return { texts: [], next };
  const ids = records.map(({ id }) => id);
  const weights = await weighRuns(db, workspaceId, ids);
  const kept = records.slice(0, countWithin(ids.map((id) => weights.get(id) ?? 0)));
  await hold(kept.reduce((sum, { id }) => sum + (weights.get(id) ?? 0), 0));
  const keptIds = kept.map(({ id }) => id);
  const [inputs, journals] = [await readInputs(db, workspaceId, keptIds), await readJournals(db, workspaceId, keptIds)];
  const texts: JsonParts[] = [];
  for (const run of kept) {
    const journal = await journalText(inSlices, journals.get(run.id) ?? []);
    texts.push(textOf(run, inputs.get(run.id) ?? "null", journal));
  }
  return { texts, next: kept.length < records.length ? (keptIds.at(-1) ?? null) : next };
}

/** How many runs of these sizes fit into a page: at least one. */
function countWithin(bytes: readonly number[]): number {
  let sum = 0;
  const over = bytes.findIndex((some, index) => {
    sum += some;
    return index > 0 && sum > MAX_BYTES;
  });
  return over === -1 ? bytes.length : over;
}

const textOf = (run: ListedRunRow, input: string, journal: JsonParts): JsonParts => [
  `{"runId":"${showRunId(run.id)}","workflowId":${JSON.stringify(run.workflow)},"version":${JSON.stringify(run.version)},` +
    `"status":"${run.status}","attempt":${run.failures + 1},"attempts":${run.attempts},"input":`,
  input,
  `,"trigger":${run.trigger},"createdAt":"${run.created_at}","journal":`,
  ...journal,
  "}",
];
