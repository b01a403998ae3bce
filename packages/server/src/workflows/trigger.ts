import type { TriggerWorkflow } from "@tidemill/contract";
import type { Clock, RunId, Transactional, UuidSource, WorkspaceId } from "#kernel";
import { type LaneKey, laneNotFound } from "#lanes";
import { openQuotas } from "#usage";
import { claimRunKey } from "./run-store.ts";
import { startRuns } from "./start-runs.ts";
import { findWorkflow } from "./store.ts";

export interface TriggerContext {
  readonly ids: UuidSource;
  readonly clock: Pick<Clock, "nowMs">;
}

/** The run of a trigger, and whether an earlier trigger with the same key has started it. */
export interface StartedRun {
  readonly id: RunId;
  readonly duplicate: boolean;
  readonly lane: LaneKey;
  /** When it is due. Milliseconds since 1970; null: now. */
  readonly dueMs: number | null;
}

/**
 * Starts a run. A trigger with a known key starts none. It is refused like any other when the quota is used up. Source: specification,
 * Workflow behavior 7 and 8.
 *
 * @throws NOT_FOUND for the workflow; QUOTA_EXCEEDED
 */
export const triggerWorkflow = (
  database: Transactional,
  { ids, clock }: TriggerContext,
  workspaceId: WorkspaceId,
  name: string,
  { idempotencyKey = null, delay = 0 }: Pick<TriggerWorkflow, "delay"> & { idempotencyKey?: string | null },
  input: string,
): Promise<StartedRun> =>
  database.transaction(async (tx) => {
    const workflow = await findWorkflow(tx, workspaceId, name);
    if (!workflow) throw await laneNotFound(tx, workspaceId, "workflow", name);
    const lane = { workspaceId, laneId: workflow.id };
    const quotas = await openQuotas(tx, [workspaceId]);
    const refusal = quotas.take({ workspaceId, executions: 1 });
    if (refusal) throw refusal;
    const id = ids.next() as RunId;
    const known = idempotencyKey === null ? null : await claimRunKey(tx, lane, idempotencyKey, id);
    if (known) return { id: known, duplicate: true, lane, dueMs: null };
    await quotas.store();
    const dueMs = delay > 0 ? clock.nowMs() + delay * 1_000 : null;
    const { attempts, backoff_delay_ms: backoffDelayMs } = workflow;
    await startRuns(tx, [{ ...lane, id, attempts, backoffDelayMs, input, trigger: '{"type":"api"}', idempotencyKey, runAtMs: dueMs }]);
    return { id, duplicate: false, lane, dueMs };
  });
