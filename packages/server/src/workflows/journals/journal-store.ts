import { type Db, fragment, MAX_PAGE_BYTES, rows, sql } from "#kernel";
import type { RunKey, StepRow } from "../runs/run.ts";
import { VISIBLE_OUTCOME } from "../runs/run-store.ts";

/** Where a page of a journal begins: after this step. */
export interface JournalPlace {
  readonly waits: boolean;
  readonly seq: number;
}

/** The approximate length of a step of `run_step s` in a journal. Lengths are known without reading the texts. */
const STEP_LENGTH = fragment`octet_length(s.key) + coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0) + 250`;

/** A step, with its place in the journal and the number of steps that were found. */
type PlacedStep = StepRow & { readonly seq: number; readonly found: number };

/** A part of a journal: steps in the order of their outcomes, then those that wait. Uses the primary key. */
export async function readJournalPage(
  db: Db,
  { workspaceId, id }: RunKey,
  after: JournalPlace | null,
  limit: number,
): Promise<{ steps: StepRow[]; next: JournalPlace | null }> {
  const { waits, seq } = after ?? { waits: false, seq: 0 };
  const steps = await rows<PlacedStep>(
    db,
    sql`
      select key, type, status, ${VISIBLE_OUTCOME}, attempt, started_at, ended_at, wake_at, signal, child_run_id, undoable, seq, found
      from (
        select *, count(*) over () as found, row_number() over (order by waits, seq) as place,
          sum(length) over (order by waits, seq rows unbounded preceding) as bytes
        from (
          select s.*, s.status = 'waiting' as waits, ${STEP_LENGTH} as length from run_step s
          where s.workspace_id = ${workspaceId} and s.run_id = ${id} and (s.status = 'waiting', s.seq) > (${waits}::boolean, ${seq}::int)
          order by waits, s.seq limit ${limit + 1}
        ) next
      ) measured
      where place <= ${limit} and (place = 1 or bytes <= ${MAX_PAGE_BYTES}::int)
      order by waits, seq`,
  );
  const last = steps.at(-1);
  const isCut = last !== undefined && last.found > steps.length;
  return { steps, next: isCut ? { waits: last.status === "waiting", seq: last.seq } : null };
}
