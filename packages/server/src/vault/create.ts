import type { CreateSecret } from "@tidemill/contract";
import type { Actor } from "#audit";
import { problem, type Transactional } from "#kernel";
import { auditCreated } from "./audit.ts";
import { currentKey } from "./current-key.ts";
import { sealSecret } from "./envelope.ts";
import { normalizeHosts } from "./normalize-hosts.ts";
import { checkSize, hintOf, type Secret, type Vault } from "./secret.ts";
import { insertSecret } from "./store.ts";

/**
 * Stores a secret. Source: specification, Secrets.
 *
 * @throws CONFLICT when the workspace has a secret of that name; PAYLOAD_TOO_LARGE; UNAVAILABLE on a node without the vault's key
 */
export async function createSecret(database: Transactional, vault: Vault, actor: Actor, request: CreateSecret): Promise<Secret> {
  const { name, value, allowed_queues = null, allowed_hosts = null } = request;
  checkSize(value);
  return database.transaction(async (tx) => {
    const master = await currentKey(tx, vault.keyring, actor.workspaceId);
    const identity = { workspace_id: actor.workspaceId, id: vault.ids.next(), name };
    const limits = { allowed_queues, allowed_hosts: allowed_hosts && normalizeHosts(allowed_hosts) };
    const envelope = sealSecret(vault.random, master, { ...identity, ...limits }, value);
    const secret = await insertSecret(tx, { ...identity, ...limits, ...envelope, value_hint: hintOf(value) });
    if (!secret) throw problem("CONFLICT", { name }, { message: `The secret "${name}" already exists.` });
    await auditCreated(tx, vault.audit, actor, secret);
    return secret;
  });
}
