import { AuditLog } from "#audit";
import { type Clock, type Random, UuidSource } from "#kernel";

/** What it takes to make, change and close workspaces and their keys. */
export interface Registrar {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
}

export function createRegistrar(clock: Clock, random: Random): Registrar {
  const ids = new UuidSource(clock, random);
  return { clock, random, ids, audit: new AuditLog(ids) };
}

/** Who does what nobody's key asked for, as the audit log names him. */
export const OPERATOR = "operator";
export const SYSTEM = "system";
