import type { LastError } from "@tidemill/contract";
import type { ClaimOutcome, Deliverer, JobKind } from "#engine";
import { removeUnrecorded } from "#jobs";
import type { LaneId, LaneKey } from "#lanes";
import type { DeliveryReport } from "./delivery.ts";
import {
  type AttemptToRecord,
  findPendingAcrossWorkspaces,
  recordAttemptsAcrossWorkspaces,
  recordHealthAcrossWorkspaces,
} from "./delivery-store.ts";

/** The kind of the jobs that send events to webhooks. Their outcomes are recorded with the delivery, which has the job's id. */
export const webhookKind = (deliverer: Deliverer): JobKind => ({
  name: "webhook",
  recorded: false,
  deliverer,
  async settled(tx, outcomes) {
    const attempts = outcomes.flatMap(attemptOf).sort((a, b) => (a.id < b.id ? -1 : 1));
    // Before the deliveries: a change of a webhook locks it first, and then them (docs/sql.md, the lock order).
    const health = healthOf(outcomes.filter(({ verdict }) => verdict.kind !== "release"));
    if (health.length > 0) await recordHealthAcrossWorkspaces(tx, health);
    const recorded = attempts.length > 0 ? new Set((await recordAttemptsAcrossWorkspaces(tx, attempts)).map(({ id }) => id)) : new Set();
    const others = outcomes.filter(({ claim }) => !attempts.some(({ id }) => id === claim.id));
    const pending =
      others.length > 0
        ? await findPendingAcrossWorkspaces(
            tx,
            others.map(({ claim }) => claim),
          )
        : new Set();
    // Deliveries that have ended in the meantime, because their webhook was switched off, get no further attempt.
    for (const { claim } of outcomes) if (!recorded.has(claim.id) && !pending.has(claim.id)) await removeUnrecorded(tx, claim);
  },
});

/** The attempt to record. None for an attempt that was released, which has not ended. */
function attemptOf({ claim, verdict }: ClaimOutcome): AttemptToRecord[] {
  if (verdict.kind === "release") return [];
  const { body, durationMs }: DeliveryReport = verdict.report === undefined ? { body: null, durationMs: 0 } : JSON.parse(verdict.report);
  const error: LastError | null = verdict.kind === "complete" ? null : verdict.error;
  const status = verdict.kind === "complete" ? verdict.status : verdict.error.status;
  const { workspaceId, id, attempt, startedAt } = claim;
  const entry = { attempt, started_at: startedAt, duration_ms: durationMs, status, error };
  const state = verdict.kind === "complete" ? "delivered" : verdict.kind === "fail" ? "failed" : "pending";
  return [{ workspaceId, id, state, attempt, status, body, error: error && JSON.stringify(error), logEntry: JSON.stringify(entry) }];
}

/** Whether webhooks work: one does if any of these attempts succeeded. */
function healthOf(outcomes: readonly ClaimOutcome[]): (LaneKey & { succeeded: boolean })[] {
  const lanes = new Map<LaneId, LaneKey & { succeeded: boolean }>();
  for (const { claim, verdict } of outcomes) {
    const { workspaceId, laneId } = claim;
    const succeeded = verdict.kind === "complete" || (lanes.get(laneId)?.succeeded ?? false);
    lanes.set(laneId, { workspaceId, laneId, succeeded });
  }
  return [...lanes.values()];
}
