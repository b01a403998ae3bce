import type { AuditEventType, AuditResourceType } from "@tidemill/contract";
import { type Db, plainArray, row, rows, sql, textArray, type UuidSource, type WorkspaceId } from "#kernel";

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

  /**
   * Appends events of any workspaces in one statement; those of workspaces that are gone are left out. Chains are locked in the
   * order of their workspaces, so that two such statements never wait for each other.
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
