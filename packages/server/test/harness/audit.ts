import { AuditLog, type ChainReport, type NewAuditEvent, verifyAuditAcrossWorkspaces } from "#audit";
import { type Database, systemRandom, type Transactional, UuidSource, type WorkspaceId } from "#kernel";
import type { TestDatabase } from "./database.ts";

/** Ids for audit events, from the machine's time. */
export const ids = new UuidSource({ nowMs: () => performance.timeOrigin + performance.now(), elapsedMs: () => 0 }, systemRandom);
export const auditLog = new AuditLog(ids);

/** An audit event of the workspace. `event` replaces default fields. */
export const fact = (workspaceId: WorkspaceId, event: Partial<NewAuditEvent> = {}): NewAuditEvent => ({
  workspaceId,
  eventType: "dlq.purged",
  actorId: "system",
  resourceType: "job",
  resourceId: "1",
  input: { asked: "ünïcode" },
  output: null,
  ...event,
});

/** Records an event in a transaction of its own. */
export const record = (database: Transactional, workspaceId: WorkspaceId, event: Partial<NewAuditEvent> = {}): Promise<void> =>
  database.transaction((tx) => auditLog.record(tx, fact(workspaceId, event)));

/** Records `count` events, one after the other. */
export async function recordMany(database: Transactional, workspaceId: WorkspaceId, count: number): Promise<void> {
  for (let index = 1; index <= count; index += 1) await record(database, workspaceId, { resourceId: String(index) });
}

/** Appends `count` events in one statement. */
export const appendMany = (database: TestDatabase, workspaceId: WorkspaceId, count: number): Promise<unknown> =>
  database.query(
    "select append_audit_event($1, gen_random_uuid(), 'dlq.purged', 'system', 'job', n::text, null, null) from generate_series(1, $2) n",
    [workspaceId, count],
  );

/** Verifies the workspace's chain. Returns the report. */
export async function verified(engine: Database, workspaceId: WorkspaceId): Promise<ChainReport> {
  const [report] = await verifyAuditAcrossWorkspaces(engine, workspaceId);
  if (!report) throw new Error("There is no such workspace.");
  return report;
}

/** Changes the log in a way that no role may. Only the owner of the table can switch the trigger off. */
export const tamper = (database: TestDatabase, statements: string): Promise<unknown> =>
  database.query(`begin; alter table audit_event disable trigger append_only; ${statements};
    alter table audit_event enable always trigger append_only; commit`);
