import { findHeld } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { ProveReport } from "#workflows";
import type { HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { proveClaims } from "./prove-claims.ts";
import type { RedactorOf } from "./redactor-of.ts";
import { isSameClaim } from "./settle-jobs.ts";

export interface ProveReports {
  readonly workers: KnownWorkers;
  readonly held: HeldJobs;
  readonly redactorOf: RedactorOf;
}

/** Checks that a token proves the execution of a run, and finds what takes the secrets of its input out of what the worker reports. */
export const proveReport =
  ({ workers, held, redactorOf }: ProveReports): ProveReport =>
  async (db: Db, workspaceId: WorkspaceId, execution) => {
    const [proven] = await proveClaims(workers, db, workspaceId, [execution]);
    if (!proven) return null;
    const { claim, worker } = proven;
    const known = held.get(claim.id);
    if (isSameClaim(known, claim)) return { claim, redactor: known?.redactor ?? null };
    // The run was given out by another node. It is remembered, so that its next report finds it here.
    const [row] = await findHeld(db, workspaceId, [claim]);
    if (!row) return { claim, redactor: null };
    const { redactor, secretLength } = await redactorOf(db, row, row.queue, worker.name);
    held.add({ claim: row, response: Symbol(), queue: row.queue, redactor }, secretLength);
    return { claim, redactor };
  };
