import type { AttemptResult } from "#engine";
import type { Claim } from "#jobs";
import type { Db, RunId } from "#kernel";
import { findTemplatedInput, isOfRun } from "#workflows";
import { type FilledPayload, type FillSecrets, fillInput, fillSecrets, KEEPS_NOTHING } from "./fill-secrets.ts";

/** What takes the secrets of a job or run out of what its worker reports. */
type FoundRedactor = Pick<FilledPayload, "redactor" | "secretLength">;
export type RedactorOf = (db: Db, claim: Claim, name: string, worker: string) => Promise<FoundRedactor>;

const NONE: FoundRedactor = { redactor: null, secretLength: 0 };

/** Reads the secrets of a job or run again, for a report that reaches another node than the one that gave it out. */
export const redactorOf =
  (fill: FillSecrets): RedactorOf =>
  async (db, claim, name, worker) => {
    // A hook has no templates: its payload is what the run has led to.
    if (claim.kind === "hook" || claim.payload === "") return NONE;
    if (!isOfRun(claim)) return asRedactor(await fillSecrets(fill, claim, name, worker));
    const input = await findTemplatedInput(db, { workspaceId: claim.workspaceId, id: claim.id as string as RunId });
    return input === null ? NONE : asRedactor(await fillInput(fill, claim, name, worker, input));
  };

const asRedactor = (filled: FilledPayload | AttemptResult): FoundRedactor =>
  "payload" in filled ? filled : { redactor: KEEPS_NOTHING, secretLength: 0 };
