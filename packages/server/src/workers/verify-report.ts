import type { Engine } from "#engine";
import { type Principal, servedBy } from "#http";
import { findHeld, type NamedClaim } from "#jobs";
import type { Db, RunId } from "#kernel";
import { findTemplatedInput, type VerifyExecution, type VerifyReport } from "#workflows";
import type { ExecutionTokens } from "./execution-tokens.ts";
import type { HeldJob, HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import type { RedactorOf } from "./redactor-of.ts";
import { isSameClaim } from "./settle-jobs.ts";
import { findLanes } from "./store.ts";
import { verifyLeaseTokens } from "./verify-lease-tokens.ts";

export interface VerifyReports {
  readonly workers: KnownWorkers;
  readonly tokens: Pick<ExecutionTokens, "verify">;
  readonly held: HeldJobs;
  readonly redactorOf: RedactorOf;
  readonly finish: Engine["finishForWorker"];
}

/** Stands for a worker where the service sends executions to an endpoint. */
export const ENDPOINT = "endpoint";

/** Checks that a token proves the execution of a run of a workflow that the caller may serve. */
export const verifyExecution =
  (deps: Tokens): VerifyExecution =>
  async (db, principal, execution) =>
    (await verify(deps, db, principal, execution))?.claim ?? null;

/** The same, and finds the redactor that removes the secrets of the run's input from what the worker reports. */
export const verifyReport =
  (deps: VerifyReports): VerifyReport =>
  async (db, principal, execution) => {
    const { held, redactorOf, finish } = deps;
    const { workspaceId } = principal;
    const verified = await verify(deps, db, principal, execution);
    if (!verified) return null;
    const { claim, worker, known } = verified;
    if (known) return { claim, redactor: known.redactor };
    // Another node handed out the run. It is remembered, so that its next report finds it here.
    const [row] = await findHeld(db, workspaceId, [claim]);
    // The node is lost, and the next execution has not begun. Text that may contain secrets is not stored without a redactor.
    if (!row)
      return (await findTemplatedInput(db, { workspaceId, id: claim.id as string as RunId })) === null ? { claim, redactor: null } : null;
    const found = await redactorOf(db, row, row.queue, worker ?? ENDPOINT);
    if (!found) {
      // The run's secrets may no longer be known, so it is executed again. If an endpoint executes it, the node that holds the execution
      // sees how it ends.
      if (worker !== null) await finish([{ claim: row, result: { kind: "withdrawn" }, worker }]);
      return null;
    }
    const { redactor, secretLength } = found;
    held.add({ claim: row, response: Symbol(), queue: row.queue, redactor }, secretLength);
    return { claim, redactor };
  };

type Tokens = Pick<VerifyReports, "workers" | "tokens" | "held">;

/** A claim that a token proves, the name of its worker, and what this node remembers of it. */
interface VerifiedExecution {
  readonly claim: NamedClaim;
  /** Null: a node holds it, and has sent it to an endpoint. */
  readonly worker: string | null;
  readonly known: HeldJob | null;
}

/** Verifies a token. Null: it proves no claim that the caller may serve. */
async function verify(
  { workers, tokens, held }: Tokens,
  db: Db,
  principal: Principal,
  execution: Parameters<VerifyExecution>[2],
): Promise<VerifiedExecution | null> {
  const { workspaceId } = principal;
  const sent = await tokens.verify(workspaceId, execution);
  const [verified] = sent ? [] : await verifyLeaseTokens(workers, db, workspaceId, [execution]);
  const claim = sent ?? verified?.claim;
  if (!claim) return null;
  const remembered = held.get(claim.id);
  const known = remembered && isSameClaim(remembered, claim) ? remembered : null;
  // Workers of one name share the secret of their tokens, whatever their keys are bound to.
  if (!(await mayServeLane(db, principal, claim, known))) return null;
  return { claim, worker: verified?.worker.name ?? null, known };
}

async function mayServeLane(db: Db, principal: Principal, { laneId }: NamedClaim, known: HeldJob | null): Promise<boolean> {
  const names = servedBy(principal, "workflow");
  if (names === null) return true;
  if (known) return names.includes(known.queue);
  const lanes = await findLanes(db, principal.workspaceId, "workflow", names);
  return lanes.some((lane) => lane.laneId === laneId);
}
