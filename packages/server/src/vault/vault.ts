import type { AuditLog } from "#audit";
import type { Module } from "#http";
import { type Database, type EmitEvent, PeriodicLoop, type Random, type Shares, type Tenants, type UuidSource } from "#kernel";
import { SecretAccess } from "./access.ts";
import type { Keyring } from "./keyring.ts";
import { mountSecrets } from "./routes.ts";
import { deleteFormerAcrossWorkspaces } from "./store.ts";

/** How often former values whose time is over are removed. Milliseconds. */
const FORGET_FORMER_EVERY_MS = 600_000;
/** Forms of values that no attempt has used for one to two of these periods are forgotten. */
const FORGET_FORMS_EVERY_MS = 300_000;

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

/** Secrets: their endpoints, and how deliveries get their values. */
export const createVault = ({
  engine,
  tenants,
  keyring,
  audit,
  ids,
  random,
  emit,
  shares: { loopTime },
}: VaultModuleOptions): Module & { readonly secrets: SecretAccess } => {
  const secrets = new SecretAccess({ db: engine, keyring, audit, ids, emit, loopTime });
  const forget = async () => secrets.forgetUnusedForms();
  const forgetFormer = async () => void (await deleteFormerAcrossWorkspaces(engine));
  return {
    secrets,
    routes: (api) => mountSecrets(api, { tenants, vault: { keyring, random, ids, audit } }),
    services: [
      new PeriodicLoop({ name: "forget-forms", everyMs: FORGET_FORMS_EVERY_MS, pass: forget }, emit, random),
      new PeriodicLoop({ name: "forget-former-values", everyMs: FORGET_FORMER_EVERY_MS, pass: forgetFormer }, emit, random),
    ],
  };
};
