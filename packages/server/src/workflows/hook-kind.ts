import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog, NewAuditEvent } from "#audit";
import type { Deliverer, JobKind, Outcome } from "#engine";
import { type Clock, type Db, momentMs, type WorkspaceId } from "#kernel";
import { type EndedHook, recordHookError, removeHook } from "./hook-store.ts";
import { showRunId } from "./run.ts";

/** A hook that takes longer is recorded as slow. It is not ended. Source: specification, Lifecycle hooks 3. */
const SLOW_MS = 30_000;

/** The kind of the jobs that execute lifecycle hooks. Whatever comes of a hook, the status of its run stays. */
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

async function settleHook(tx: Db, { claim, verdict }: Outcome, nowMs: number): Promise<NewAuditEvent[]> {
  if (verdict.kind !== "complete" && verdict.kind !== "fail") return [];
  const message = verdict.kind === "fail" ? verdict.error.message : null;
  const ended = message === null ? await removeHook(tx, claim) : await recordHookError(tx, claim, message);
  if (!ended) return [];
  const tookMs = Math.trunc(nowMs - momentMs(claim.startedAt));
  return [
    ...(message === null ? [] : [eventOf(claim.workspaceId, "workflow.hook.errored", ended, { message })]),
    ...(tookMs > SLOW_MS ? [eventOf(claim.workspaceId, "workflow.hook.slow", ended, { took_ms: tookMs })] : []),
  ];
}

const eventOf = (
  workspaceId: WorkspaceId,
  eventType: AuditEventType,
  { run_id, hook, workflow }: EndedHook,
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
