import type { AuditLog, NewAuditEvent } from "#audit";
import { type Hand, type JobKey, type Overdue, type Ruling, showJobId } from "#jobs";
import type { Db } from "#kernel";

/** Tells the audit log how a job was decided, and by whom. */
export const tellDecided = (
  tx: Db,
  { audit, actorId, queue }: Hand,
  { workspaceId, id }: JobKey,
  { decision, by, comment }: Ruling,
): Promise<void> => audit.record(tx, { ...fact(decision, workspaceId, id, queue), actorId, input: { by, comment } });

/** Tells the audit log of jobs that were decided because nobody did in time. */
export const tellOverdue = (tx: Db, audit: AuditLog, decided: readonly Overdue[]): Promise<void> =>
  audit.recordAll(
    tx,
    decided.flatMap(({ decision, workspace_id, id, queue }) =>
      decision === null ? [] : [{ ...fact(decision, workspace_id, id, queue), actorId: "system", input: null }],
    ),
  );

const fact = (
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
