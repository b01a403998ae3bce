import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Db } from "#kernel";
import { type JobKey, showJobId } from "./job.ts";

/** Whose hand moves a job of that queue, as the audit log names him. */
export interface Hand {
  readonly audit: AuditLog;
  readonly actorId: string;
  readonly queue: string;
}

/** Tells the audit log that a failed job left the dead-letter queue by hand. */
export const tellRetried = (tx: Db, hand: Hand, key: JobKey): Promise<void> => tell(tx, hand, key, "dlq.retried", { retried: 1 });
export const tellPurged = (tx: Db, hand: Hand, key: JobKey): Promise<void> => tell(tx, hand, key, "dlq.purged", { purged: 1 });

const tell = (
  tx: Db,
  { audit, actorId, queue }: Hand,
  { workspaceId, id }: JobKey,
  eventType: AuditEventType,
  output: object,
): Promise<void> =>
  audit.record(tx, { workspaceId, eventType, actorId, resourceType: "job", resourceId: showJobId(id), input: { queue }, output });
