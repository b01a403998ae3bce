import type { AuditEventType } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import type { Db } from "#kernel";
import { type JobKey, type JobRow, showJobId } from "./job.ts";

/** Who acts on a job of a queue, and the log that records it. The job's key names the workspace. */
export interface JobActor extends Pick<Actor, "actorId"> {
  readonly audit: AuditLog;
  readonly queue: string;
}

/** Records that an actor retried a failed job, which thereby left the dead-letter queue. */
export const auditRetried = (tx: Db, actor: JobActor, key: JobKey): Promise<void> => record(tx, actor, key, "dlq.retried", { retried: 1 });
export const auditPurged = (tx: Db, actor: JobActor, key: JobKey): Promise<void> => record(tx, actor, key, "dlq.purged", { purged: 1 });

/** Records that an actor retried a rejected job, and the decision that this overrules. */
export const auditOverruled = (tx: Db, actor: JobActor, key: JobKey, { approval }: JobRow): Promise<void> =>
  record(tx, actor, key, "approval.overruled", { overruled: approval && JSON.parse(approval) });

const record = (
  tx: Db,
  { audit, actorId, queue }: JobActor,
  { workspaceId, id }: JobKey,
  eventType: AuditEventType,
  output: object,
): Promise<void> =>
  audit.record(tx, { workspaceId, eventType, actorId, resourceType: "job", resourceId: showJobId(id), input: { queue }, output });
