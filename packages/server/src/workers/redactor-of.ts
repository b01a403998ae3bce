import type { AttemptResult } from "#engine";
import type { FoundClaim } from "#jobs";
import { type Db, type RunId, unavailable } from "#kernel";
import { findTemplatedInput, isOfRun } from "#workflows";
import { type FilledPayload, type FillSecrets, fillInput, fillSecrets, KEEPS_NOTHING } from "./fill-secrets.ts";

/** The redactor that removes the secrets of a job or run from what its worker reports. */
type FoundRedactor = Pick<FilledPayload, "redactor" | "secretLength">;
export type RedactorOf = (db: Db, claim: FoundClaim, name: string, worker: string) => Promise<FoundRedactor | null>;

const NONE: FoundRedactor = { redactor: null, secretLength: 0 };

/**
 * Reads the secrets of a job or run again, for a report that reaches a different node from the one that handed it out. If a secret was
 * deleted since, its value cannot be searched for. Then nothing is kept of a report on a job. For a run, this returns null: it must be
 * executed again.
 *
 * @throws UNAVAILABLE when they cannot be read at the moment
 */
export const redactorOf =
  (fill: FillSecrets): RedactorOf =>
  async (db, claim, name, worker) => {
    if (!isOfRun(claim)) {
      if (claim.templated === null) return NONE;
      const filled = await fillSecrets(fill, { ...claim, payload: claim.templated }, name, worker, "redaction");
      return foundIn(filled) ?? { redactor: KEEPS_NOTHING, secretLength: 0 };
    }
    const input = await findTemplatedInput(db, { workspaceId: claim.workspaceId, id: claim.id as string as RunId });
    return input === null ? NONE : foundIn(await fillInput(fill, claim, name, worker, input, "redaction"));
  };

function foundIn(filled: FilledPayload | AttemptResult): FoundRedactor | null {
  if ("payload" in filled) return filled;
  if (filled.kind === "postponed") throw unavailable("The secrets that may be in the report cannot be read at the moment.");
  return null;
}
