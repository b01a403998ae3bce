import type { PatchSecret } from "@tidemill/contract";
import type { Transactional } from "#kernel";
import { currentKey } from "./current-key.ts";
import { sealSecret } from "./envelope.ts";
import { readHosts } from "./hosts.ts";
import { secretNotFound } from "./not-found.ts";
import { type Caller, checkSize, hintOf, type Secret, type Vault } from "./secret.ts";
import { lockSecret, updateSecret } from "./store.ts";
import { tellPatched } from "./tell.ts";

/**
 * Changes what the request names and leaves the rest. A new value is encrypted under a new data key, and used from the next
 * attempt on. Source: specification, Secrets.
 *
 * @throws NOT_FOUND; PAYLOAD_TOO_LARGE; UNAVAILABLE on a node without the vault's key
 */
export async function patchSecret(
  database: Transactional,
  vault: Vault,
  caller: Caller,
  name: string,
  request: PatchSecret,
): Promise<Secret> {
  const { value, allowed_queues, allowed_hosts } = request;
  if (value !== undefined) checkSize(value);
  return database.transaction(async (tx) => {
    const master = value === undefined ? null : await currentKey(tx, vault.keyring, caller.workspaceId);
    const before = await lockSecret(tx, caller.workspaceId, name);
    if (!before) throw await secretNotFound(tx, caller.workspaceId, name);
    const sealed = master && value !== undefined ? { ...sealSecret(vault.random, master, before, value), hint: hintOf(value) } : undefined;
    const secret = await updateSecret(tx, before, {
      sealed,
      allowedQueues: allowed_queues,
      allowedHosts: allowed_hosts && readHosts(allowed_hosts),
    });
    if (!secret) throw await secretNotFound(tx, caller.workspaceId, name);
    await tellPatched(tx, vault.audit, caller, secret, request);
    return secret;
  });
}
