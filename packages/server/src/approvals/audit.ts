import type { AuditLog, NewAuditEvent } from "#audit";
import { type JobActor, type JobKey, type OverdueJob, type Ruling, showJobId } from "#jobs";
import type { Db } from "#kernel";

/** Records a decision and who made it. */
export const auditDecided = (
  tx: Db,
  { audit, actorId, queue }: JobActor,
  { workspaceId, id }: JobKey,
  { decision, by, comment }: Ruling,
): Promise<void> => audit.record(tx, { ...decisionEvent(decision, workspaceId, id, queue), actorId, input: { by, comment } });

/** Records the decisions that were made because an approval timed out. */
export const auditOverdue = (tx: Db, audit: AuditLog, decided: readonly OverdueJob[]): Promise<void> =>
  audit.recordAll(
    tx,
    decided.flatMap(({ decision, workspace_id, id, queue }) =>
      decision === null ? [] : [{ ...decisionEvent(decision, workspace_id, id, queue), actorId: "system", input: null }],
    ),
  );

const decisionEvent = (
  decision: Ruling["decision"],
  workspaceId: JobKey["workspaceId"],
  id: JobKey["id"],
  queue: string,
): Omit<NewAuditEvent, "actorId" | "input"> => ({
  workspaceId,
  eventType: `job.${decision}`,
  resourceType: "job",
  resourceId: showJobId(id),
  output: { decision, queue },
});
