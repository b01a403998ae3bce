import { isUndoKey } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { principalOf, workspaceOf } from "#http";
import type { NamedClaim } from "#jobs";
import { invalid, problem, type RunId, type Shares, type Tenants, type Transactional } from "#kernel";
import { type RunKey, readRunId, runNotFound } from "../runs/run.ts";
import { findRun } from "../runs/run-store.ts";
import { RESERVED_KEY } from "../undo/key.ts";
import { refuserOf } from "./refuse-secrets.ts";
import type { VerifyReport } from "./report-steps.ts";

export interface StepRequestOptions {
  readonly tenants: Tenants;
  readonly shares: Pick<Shares, "loopTime">;
  readonly verifyReport: VerifyReport;
}

/** A request of a program for one of its steps: the run, its lease, and the payload, by its path in the request. */
export interface StepRequest {
  readonly id: string;
  readonly lease_token: string;
  readonly texts: { readonly key: string } & Readonly<Record<string, string>>;
  /** JSON texts. */
  readonly payload?: Readonly<Record<string, string>>;
}

/**
 * Carries out what programs request with their steps: under a claim that holds, and without secrets of the run's input.
 *
 * @throws VALIDATION_ERROR for secrets, and for the key of an undo; LEASE_LOST, also if the work returns null; NOT_FOUND when there is no
 *   such run
 */
export function stepRequests({ tenants, shares, verifyReport }: StepRequestOptions) {
  const refuse = refuserOf(shares);
  return async <Done>(
    request: FastifyRequest,
    { id, lease_token, texts, payload = {} }: StepRequest,
    carryOut: (db: Transactional, run: RunKey, claim: NamedClaim) => Promise<Done | null>,
  ): Promise<Done> => {
    if (isUndoKey(texts.key)) throw invalid("key", RESERVED_KEY);
    const workspaceId = workspaceOf(request);
    const db = tenants.of(workspaceId);
    const run = { workspaceId, id: readRunId(id) as RunId };
    const verified = await verifyReport(db, principalOf(request), { id, lease_token });
    await refuse(request, verified, texts, payload);
    const done = verified && (await carryOut(db, run, verified.claim));
    // A verified token belongs to a worker. Its run may have been deleted.
    if (done === null) throw verified || (await findRun(db, run)) ? problem("LEASE_LOST") : runNotFound(id);
    return done;
  };
}
