import type { PatchSecret } from "@tidemill/contract";
import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { auditPatched } from "./audit.ts";
import { currentKey } from "./current-key.ts";
import { sealSecret } from "./envelope.ts";
import { normalizeHosts } from "./normalize-hosts.ts";
import { secretNotFound } from "./not-found.ts";
import { checkSize, hintOf, type Secret, type Vault } from "./secret.ts";
import { lockSecret, updateSecret } from "./store.ts";

/**
 * Changes the settings in the request and leaves the others. A new value is encrypted with a new data key, and used from the next
 * attempt on. Source: specification, Secrets.
 *
 * @throws NOT_FOUND; PAYLOAD_TOO_LARGE; UNAVAILABLE on a node without the vault's key
 */
export async function patchSecret(
  database: Transactional,
  vault: Vault,
  actor: Actor,
  name: string,
  request: PatchSecret,
): Promise<Secret> {
  const { value, allowed_queues, allowed_hosts } = request;
  if (value !== undefined) checkSize(value);
  return database.transaction(async (tx) => {
    const master = value === undefined ? null : await currentKey(tx, vault.keyring, actor.workspaceId);
    const before = await lockSecret(tx, actor.workspaceId, name);
    if (!before) throw await secretNotFound(tx, actor.workspaceId, name);
    const sealed = master && value !== undefined ? { ...sealSecret(vault.random, master, before, value), hint: hintOf(value) } : undefined;
    const secret = await updateSecret(tx, before, {
      sealed,
      allowedQueues: allowed_queues,
      allowedHosts: allowed_hosts && normalizeHosts(allowed_hosts),
    });
    if (!secret) throw await secretNotFound(tx, actor.workspaceId, name);
    await auditPatched(tx, vault.audit, actor, secret, request);
    return secret;
  });
}
