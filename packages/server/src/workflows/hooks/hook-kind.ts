import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog, NewAuditEvent } from "#audit";
import type { ClaimOutcome, Deliverer, JobKind } from "#engine";
import { type Clock, type Db, momentMs, type Transactional, type WorkspaceId } from "#kernel";
import { showRunId } from "../runs/run.ts";
import { markSlowHooksAcrossWorkspaces, type RunHook, recordHookError, removeHook } from "./hook-store.ts";

/** A hook that takes longer is recorded as slow. It is not ended. Source: specification, Lifecycle hooks 3. */
const SLOW_MS = 30_000;
/** The maximum number of slow hooks that are recorded together. */
const MAX_SLOW = 100;

/** The kind of the jobs that execute lifecycle hooks. The outcome of a hook does not change the status of its run. */
export const hookKind = (audit: AuditLog, deliverer: Deliverer, clock: Pick<Clock, "nowMs">): JobKind => ({
  name: "hook",
  recorded: false,
  once: true,
  deliverer,
  async settled(tx, outcomes) {
    const events: NewAuditEvent[] = [];
    for (const outcome of outcomes) events.push(...(await settleHook(tx, outcome, clock.nowMs())));
    await audit.recordAll(tx, events);
  },
});

/** Records slow hooks that still run: one that never ends would not be recorded otherwise. Returns 0 if there may be more. */
export const recordSlowHooks = (database: Transactional, audit: AuditLog): Promise<0 | undefined> =>
  database.transaction(async (tx) => {
    const found = await markSlowHooksAcrossWorkspaces(tx, SLOW_MS, MAX_SLOW);
    const events = found.map((one) => eventOf(one.workspace_id, "workflow.hook.slow", one, { took_ms: one.took_ms, running: true }));
    await audit.recordAll(tx, events);
    return found.length < MAX_SLOW ? undefined : 0;
  });

async function settleHook(tx: Db, { claim, verdict }: ClaimOutcome, nowMs: number): Promise<NewAuditEvent[]> {
  if (verdict.kind !== "complete" && verdict.kind !== "fail") return [];
  const message = verdict.kind === "fail" ? verdict.error.message : null;
  const ended = message === null ? await removeHook(tx, claim) : await recordHookError(tx, claim, message);
  if (!ended) return [];
  const tookMs = Math.trunc(nowMs - momentMs(claim.startedAt));
  return [
    ...(message === null ? [] : [eventOf(claim.workspaceId, "workflow.hook.errored", ended, { message })]),
    ...(tookMs > SLOW_MS && !ended.was_slow ? [eventOf(claim.workspaceId, "workflow.hook.slow", ended, { took_ms: tookMs })] : []),
  ];
}

const eventOf = (
  workspaceId: WorkspaceId,
  eventType: AuditEventType,
  { run_id, hook, workflow }: RunHook,
  output: object,
): NewAuditEvent => ({
  workspaceId,
  eventType,
  actorId: "system",
  resourceType: "run",
  resourceId: showRunId(run_id),
  input: null,
  output: { hook, workflow, ...output },
});
