import type { StepsStored } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { principalOf, runForRequest } from "#http";
import { type Db, problem, type RunId, type Shares, type Tenants, type UuidSource, type WorkspaceId } from "#kernel";
import type { Waker } from "#lanes";
import { callCharacters, checkCallTemplates } from "../calls/index.ts";
import { type RunKey, readRunId } from "../runs/run.ts";
import { keepProgress, storeProgress } from "./progress.ts";
import { redactSteps } from "./redact-steps.ts";
import { reportSteps, type StepsReported, type VerifiedReport, type VerifyReport } from "./report-steps.ts";
import type { StepToInsert } from "./step-store.ts";
import type { StepWriter } from "./step-writer.ts";

export interface StoreReports {
  readonly tenants: Tenants;
  readonly ids: UuidSource;
  readonly waker: Pick<Waker, "wake">;
  readonly verifyReport: VerifyReport;
  readonly steps: StepWriter;
  readonly shares: Pick<Shares, "loopTime">;
}

/** What a program reports about an execution: steps, its progress as JSON text, or both. */
export interface Report {
  /** The id of the run. */
  readonly id: string;
  readonly lease_token: string;
  readonly steps: readonly StepToInsert[];
  readonly progress: string | null;
}

/**
 * Stores a report. Returns how many steps the journal has, and which reported waits have their outcome; null if the token is not valid.
 *
 * @throws LEASE_LOST if the claim no longer holds, or for steps that wait if the run is deleted: then nothing is stored. VALIDATION_ERROR
 * for a template of a call
 */
export async function storeReport(
  { tenants, ids, waker, verifyReport, steps: writer, shares }: StoreReports,
  request: FastifyRequest,
  workspaceId: WorkspaceId,
  { id, lease_token, steps, progress }: Report,
): Promise<StepsStored | null> {
  const db = tenants.of(workspaceId);
  const key: RunKey = { workspaceId, id: readRunId(id) as RunId };
  await runForRequest(shares.loopTime, request, workspaceId, callCharacters(steps), checkCallTemplates(steps));
  const verified = await verifyReport(db, principalOf(request), { id, lease_token });
  if (!verified) return null;
  const stored = steps.length > 0 ? await storeSteps() : null;
  if (steps.length > 0 && stored === null) throw problem("LEASE_LOST");
  // After the steps, so that readers of the run's events see it in this order.
  const said = progress === null ? null : await say(db, verified, progress);
  const count = stored?.steps ?? said;
  if (count === null) throw problem("LEASE_LOST");
  return { steps: count, ...(stored && stored.ready.length > 0 && { ready: [...stored.ready] }) };

  async function storeSteps(): Promise<StepsReported | null> {
    const { claim, redactor } = verified as VerifiedReport;
    // Searching for secrets takes long, however short an output is.
    const kept = redactor
      ? await runForRequest(shares.loopTime, request, workspaceId, Number.POSITIVE_INFINITY, redactSteps(steps, redactor))
      : steps;
    const journal = await reportSteps(writer, db, ids, key, claim, kept);
    if (journal?.lane) waker.wake([journal.lane]);
    return journal;
  }

  async function say(tenant: Db, { claim, redactor }: VerifiedReport, text: string): Promise<number | null> {
    const kept = redactor
      ? await runForRequest(shares.loopTime, request, workspaceId, Number.POSITIVE_INFINITY, keepProgress(text, redactor))
      : text;
    return storeProgress(tenant, key, claim, kept);
  }
}
