import type { AuditEventType, AuditResourceType } from "@tidemill/contract";
import { type Db, row, sql, type UuidSource, type WorkspaceId } from "#kernel";

/** A fact for the audit log. `input` and `output` hold no secret. Source: specification, Audit event. */
export interface NewAuditEvent {
  readonly workspaceId: WorkspaceId;
  /** What happened: the resource, and the verb in the past tense, `key.created` say. */
  readonly eventType: AuditEventType;
  /** Whose doing it was: a key's id, `operator`, or `system`. */
  readonly actorId: string;
  readonly resourceType: AuditResourceType;
  readonly resourceId: string;
  /** What was asked for. */
  readonly input: object | null;
  /** What came of it. */
  readonly output: object | null;
}

/** Writes the audit log. */
export class AuditLog {
  readonly #ids: UuidSource;

  constructor(ids: UuidSource) {
    this.#ids = ids;
  }

  /** Appends an event to its workspace's chain, in the transaction of the fact that it tells. */
  async record(tx: Db, event: NewAuditEvent): Promise<void> {
    await row(
      tx,
      sql`
        select append_audit_event(${event.workspaceId}, ${this.#ids.next()}, ${event.eventType}, ${event.actorId}, ${event.resourceType},
          ${event.resourceId}, ${event.input && JSON.stringify(event.input)}, ${event.output && JSON.stringify(event.output)})`,
    );
  }
}
