import type { NamedClaim } from "#jobs";
import type { Transactional } from "#kernel";
import { insertSteps, type StepToInsert } from "../execution-store.ts";
import type { RunKey } from "../run.ts";
import { lockUndo } from "./store.ts";

export const isUndos = (steps: readonly StepToInsert[]): boolean => steps.every(({ type }) => type === "undo");

/**
 * Stores outcomes of undos, also of a run that has ended: no other steps of such a run are stored.
 *
 * @returns how many steps the journal has; null, and nothing is stored, if the claim no longer holds
 */
export const reportUndos = (
  database: Transactional,
  run: RunKey,
  claim: NamedClaim,
  undos: readonly StepToInsert[],
): Promise<number | null> => database.transaction(async (tx) => ((await lockUndo(tx, run, claim)) ? insertSteps(tx, run, undos) : null));
