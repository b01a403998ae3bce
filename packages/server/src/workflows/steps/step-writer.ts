import { MAX_WEIGHT, type NamedClaim, weightOf } from "#jobs";
import { Batcher, type Db, isDuplicate, type RunId, writeBatchOrEach } from "#kernel";
import { insertPlainStepsAcrossWorkspaces, isPlain } from "./plain-step-store.ts";
import { insertStepsAcrossWorkspaces, type StepsToInsert } from "./step-store.ts";
import { journalTooLarge } from "./store-step.ts";

/** Steps that a program reports under its claim. */
export interface StepsReport extends StepsToInsert {
  readonly claim: NamedClaim;
}

/** How many steps the journal has, null if the claim no longer holds, or why the steps are not stored. */
type Stored = number | null | Error;

const WRITERS = 1;

const weigh = ({ steps }: StepsReport): number => steps.reduce((sum, { output }) => sum + weightOf(output ?? ""), 0);

/** Stores steps of runs in batches: reports that arrive during a write are written together, in the next one. */
export class StepWriter {
  readonly #batcher: Batcher<StepsReport, Stored>;

  constructor(db: Db) {
    this.#batcher = new Batcher({
      maxWeight: MAX_WEIGHT,
      writers: WRITERS,
      weigh,
      workspaceOf: ({ workspaceId }) => workspaceId,
      write: (reports) => writeBatchOrEach(reports, (some) => write(db, some)),
    });
  }

  /** Returns how many steps the journal has. If the claim no longer holds, nothing is stored and null is returned. */
  async add(report: StepsReport): Promise<number | null> {
    const stored = await this.#batcher.add(report);
    if (stored instanceof Error) throw stored;
    return stored;
  }
}

/** Writes reports in their order. Each statement has each run at most once. */
async function write(db: Db, reports: readonly StepsReport[]): Promise<Stored[]> {
  const ofRun = new Map<RunId, number>();
  const rounds: number[][] = [];
  for (const [index, { id }] of reports.entries()) {
    const round = ofRun.get(id) ?? 0;
    ofRun.set(id, round + 1);
    rounds[round] = [...(rounds[round] ?? []), index];
  }
  const stored: Stored[] = reports.map(() => null);
  for (const round of rounds) {
    const counts = await writeRound(
      db,
      round.map((index) => reports[index] as StepsReport),
    );
    for (const index of round) {
      const report = reports[index] as StepsReport;
      const count = counts.get(report.id);
      stored[index] = count === null ? journalTooLarge(report.steps) : (count ?? null);
    }
  }
  return stored;
}

/** Most steps are plain and can simply be stored. One statement does that, and another one decides about the rest. */
async function writeRound(db: Db, reports: readonly StepsReport[]): Promise<ReadonlyMap<RunId, number | null>> {
  const plain = reports.filter(({ steps }) => steps.every(isPlain));
  const stored = plain.length > 0 ? await insertPlain(db, plain) : new Map<RunId, number>();
  const others = reports.filter(({ id }) => !stored.has(id));
  return others.length > 0 ? new Map([...stored, ...(await insertStepsAcrossWorkspaces(db, others))]) : stored;
}

/** Inserts plain steps. If a journal already has one of the steps, it keeps it: then the call was a repetition. */
async function insertPlain(db: Db, reports: readonly StepsReport[]): Promise<ReadonlyMap<RunId, number>> {
  try {
    return await insertPlainStepsAcrossWorkspaces(db, reports);
  } catch (error) {
    if (isDuplicate(error)) return new Map();
    throw error;
  }
}
