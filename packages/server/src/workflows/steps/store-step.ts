import { JOURNAL_TOO_LARGE_DETAILS, journalTooLargeError } from "@tidemill/contract";
import { type Db, type ProblemError, problem } from "#kernel";
import type { RunKey } from "../runs/run.ts";
import { insertStepsAcrossWorkspaces, type StepToInsert } from "./step-store.ts";

export const journalTooLarge = (steps: readonly Pick<StepToInsert, "key">[]): ProblemError =>
  problem("PAYLOAD_TOO_LARGE", JOURNAL_TOO_LARGE_DETAILS, { message: journalTooLargeError(steps).message });

/**
 * Stores a step that the service has executed for a run. The run is locked, and the transaction is that of what the step does. A step
 * without a place in the journal must do nothing, because each replay would do it again.
 *
 * @throws PAYLOAD_TOO_LARGE if the journal has no room for it
 */
export async function storeStep(tx: Db, { workspaceId, id }: RunKey, step: StepToInsert): Promise<void> {
  const stored = await insertStepsAcrossWorkspaces(tx, [{ workspaceId, id, claim: null, steps: [step] }]);
  if (stored.get(id) === null) throw journalTooLarge([step]);
}
