import { AuditLog } from "#audit";
import { type Clock, type Random, UuidSource } from "#kernel";

/** What the functions need that create, change and delete workspaces and keys. */
export interface AdminContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
}

export function createAdminContext(clock: Clock, random: Random): AdminContext {
  const ids = new UuidSource(clock, random);
  return { clock, random, ids, audit: new AuditLog(ids) };
}

/** The actor of changes by the operator, through the operator API or the command line. */
export const OPERATOR = "operator";
/** The actor of changes that the service makes by itself. */
export const SYSTEM = "system";
