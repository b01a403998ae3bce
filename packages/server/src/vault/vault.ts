import type { AuditLog } from "#audit";
import type { Module } from "#http";
import type { Database, EmitEvent, Random, Shares, Tenants, UuidSource } from "#kernel";
import { SecretAccess } from "./access.ts";
import type { Keyring } from "./keyring.ts";
import { mountSecrets } from "./routes.ts";

export interface VaultModuleOptions {
  readonly engine: Database;
  readonly tenants: Tenants;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly shares: Pick<Shares, "loopTime">;
}

/** Secrets: their endpoints, and the way in which deliveries get at their values. */
export const createVault = ({
  engine,
  tenants,
  keyring,
  audit,
  ids,
  random,
  emit,
  shares: { loopTime },
}: VaultModuleOptions): Module & { readonly secrets: SecretAccess } => ({
  secrets: new SecretAccess({ db: engine, keyring, audit, ids, emit, loopTime }),
  routes: (api) => mountSecrets(api, { tenants, vault: { keyring, random, ids, audit } }),
});
