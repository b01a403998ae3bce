import type { JsonParts, SlicedWork } from "#kernel";
import { STEP_BYTES, type StepRow, showJournal } from "../runs/run.ts";

/** Runs work on a text of this many characters in slices of the event loop's time. */
export type InSlices = <Result>(characters: number, work: SlicedWork<Result>) => Result | Promise<Result>;

/** A journal as JSON text. */
export const journalText = (inSlices: InSlices, steps: readonly StepRow[]): JsonParts | Promise<JsonParts> =>
  inSlices(steps.length * STEP_BYTES, showJournal(steps));
