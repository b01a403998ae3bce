import { findHeld } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { ProveReport } from "#workflows";
import type { ExecutionTokens } from "./execution-tokens.ts";
import type { HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { proveClaims } from "./prove-claims.ts";
import type { RedactorOf } from "./redactor-of.ts";
import { isSameClaim } from "./settle-jobs.ts";

export interface ProveReports {
  readonly workers: KnownWorkers;
  readonly tokens: Pick<ExecutionTokens, "prove">;
  readonly held: HeldJobs;
  readonly redactorOf: RedactorOf;
}

/** Stands for a worker where the service sends executions to an endpoint. */
export const ENDPOINT = "endpoint";

/** Checks that a token proves the execution of a run, and finds what takes the secrets of its input out of what the worker reports. */
export const proveReport =
  ({ workers, tokens, held, redactorOf }: ProveReports): ProveReport =>
  async (db: Db, workspaceId: WorkspaceId, execution) => {
    const sent = await tokens.prove(workspaceId, execution);
    const [proven] = sent ? [] : await proveClaims(workers, db, workspaceId, [execution]);
    const claim = sent ?? proven?.claim;
    if (!claim) return null;
    const known = held.get(claim.id);
    if (isSameClaim(known, claim)) return { claim, redactor: known?.redactor ?? null };
    // The run was given out by another node. It is remembered, so that its next report finds it here.
    const [row] = await findHeld(db, workspaceId, [claim]);
    if (!row) return { claim, redactor: null };
    const { redactor, secretLength } = await redactorOf(db, row, row.queue, proven?.worker.name ?? ENDPOINT);
    held.add({ claim: row, response: Symbol(), queue: row.queue, redactor }, secretLength);
    return { claim, redactor };
  };
