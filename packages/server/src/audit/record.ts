import type { AuditEventType, AuditResourceType } from "@tidemill/contract";
import { type Db, plainArray, row, rows, sql, textArray, type UuidSource, type WorkspaceId } from "#kernel";

/** An event for the audit log. `input` and `output` contain no secrets. Source: specification, Audit event. */
export interface NewAuditEvent {
  readonly workspaceId: WorkspaceId;
  /** What happened: the resource, and a verb in the past tense, for example `key.created`. */
  readonly eventType: AuditEventType;
  /** Who did it: the id of a key, `operator`, or `system`. */
  readonly actorId: string;
  readonly resourceType: AuditResourceType;
  readonly resourceId: string;
  /** What the actor requested. */
  readonly input: object | null;
  /** What resulted from it. */
  readonly output: object | null;
}

/** Writes the audit log. */
export class AuditLog {
  readonly #ids: UuidSource;

  constructor(ids: UuidSource) {
    this.#ids = ids;
  }

  /** Appends an event to the chain of its workspace, in the transaction of the change that it records. */
  async record(tx: Db, event: NewAuditEvent): Promise<void> {
    await row(
      tx,
      sql`
        select append_audit_event(${event.workspaceId}, ${this.#ids.next()}, ${event.eventType}, ${event.actorId}, ${event.resourceType},
          ${event.resourceId}, ${event.input && JSON.stringify(event.input)}, ${event.output && JSON.stringify(event.output)})`,
    );
  }

  /**
   * Appends events of several workspaces in one statement. Leaves out events of workspaces that no longer exist. Locks the chains in
   * the order of their workspaces, so that two such statements cannot deadlock.
   */
  async recordAll(db: Db, events: readonly NewAuditEvent[]): Promise<void> {
    if (events.length === 0) return;
    const column = (of: (event: NewAuditEvent) => string | null) => textArray(events.map(of));
    const json = (value: object | null) => value && JSON.stringify(value);
    await rows(
      db,
      sql`
        select append_audit_event(workspace_id, id, event_type, actor_id, resource_type, resource_id, input, output)
        from (
          select e.* from unnest(${plainArray(events.map(({ workspaceId }) => workspaceId))}::uuid[],
            ${plainArray(events.map(() => this.#ids.next()))}::uuid[], ${column(({ eventType }) => eventType)}::text[],
            ${column(({ actorId }) => actorId)}::text[], ${column(({ resourceType }) => resourceType)}::text[],
            ${column(({ resourceId }) => resourceId)}::text[], ${column(({ input }) => json(input))}::text[],
            ${column(({ output }) => json(output))}::text[])
            with ordinality e (workspace_id, id, event_type, actor_id, resource_type, resource_id, input, output, at)
          where exists (select from workspace w where w.id = e.workspace_id)
          order by workspace_id, at offset 0
        ) event`,
    );
  }
}
