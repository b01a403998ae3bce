import type { JsonParts, LoopTime, WorkspaceId } from "#kernel";
import { STEP_BYTES, type StepRow, showJournal } from "./run.ts";

/** A journal as JSON text. A long one is made in slices of the event loop's time. */
export const journalText = (loopTime: LoopTime, workspaceId: WorkspaceId, steps: readonly StepRow[]): JsonParts | Promise<JsonParts> =>
  loopTime.run(workspaceId, steps.length * STEP_BYTES, showJournal(steps));
