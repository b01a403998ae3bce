import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Db } from "#kernel";
import { type JobKey, type JobRow, showJobId } from "./job.ts";

/** Whose hand moves a job of that queue, as the audit log names him. */
export interface Hand {
  readonly audit: AuditLog;
  readonly actorId: string;
  readonly queue: string;
}

/** Tells the audit log that a failed job left the dead-letter queue by hand. */
export const tellRetried = (tx: Db, hand: Hand, key: JobKey): Promise<void> => tell(tx, hand, key, "dlq.retried", { retried: 1 });
export const tellPurged = (tx: Db, hand: Hand, key: JobKey): Promise<void> => tell(tx, hand, key, "dlq.purged", { purged: 1 });

/** Tells the audit log that a rejected job was let start by hand after all. */
export const tellOverruled = (tx: Db, hand: Hand, key: JobKey, { approval }: JobRow): Promise<void> =>
  tell(tx, hand, key, "approval.overruled", { overruled: approval && JSON.parse(approval) });

const tell = (
  tx: Db,
  { audit, actorId, queue }: Hand,
  { workspaceId, id }: JobKey,
  eventType: AuditEventType,
  output: object,
): Promise<void> =>
  audit.record(tx, { workspaceId, eventType, actorId, resourceType: "job", resourceId: showJobId(id), input: { queue }, output });
