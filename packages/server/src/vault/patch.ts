import type { PatchSecret } from "@tidemill/contract";
import type { Actor } from "#audit";
import { ProblemError, problem, type Transactional } from "#kernel";
import { auditPatched } from "./audit.ts";
import { currentKey, loadKey } from "./current-key.ts";
import { openFormer, openSecret, sealValues, UnreadableSecretError } from "./envelope.ts";
import { type Former, replaced, untilOf } from "./former.ts";
import type { Keyring } from "./keyring.ts";
import { normalizeHosts } from "./normalize-hosts.ts";
import { secretNotFound } from "./not-found.ts";
import { checkSize, hintOf, type Secret, type Vault } from "./secret.ts";
import { type LockedSecret, lockSecret, type StoredSecret, updateSecret } from "./store.ts";

/**
 * Changes the settings in the request and leaves the others. The value, new or not, is encrypted with a new data key and bound to the
 * limits. It is used from the next attempt on. Source: specification, Secrets.
 *
 * @throws NOT_FOUND; PAYLOAD_TOO_LARGE; UNAVAILABLE on a node without the vault's key; INVALID_STATE when something that stays as it is
 *   cannot be decrypted
 */
export async function patchSecret(
  database: Transactional,
  vault: Vault,
  actor: Actor,
  name: string,
  request: PatchSecret,
): Promise<Secret> {
  if (request.value !== undefined) checkSize(request.value);
  return database.transaction(async (tx) => {
    const master = await currentKey(tx, vault.keyring, actor.workspaceId);
    const before = await lockSecret(tx, actor.workspaceId, name);
    if (!before) throw await secretNotFound(tx, actor.workspaceId, name);
    const { value, former, ...limits } = await merge(vault.keyring, before, request);
    const envelope = sealValues(vault.random, master, { ...before, ...limits }, value, former.values);
    const changed = { ...before, ...limits, ...envelope, value_hint: hintOf(value), former_since: former.since };
    const secret = await updateSecret(tx, changed, untilOf(former));
    if (!secret) throw await secretNotFound(tx, actor.workspaceId, name);
    await auditPatched(tx, vault.audit, actor, secret, request);
    return secret;
  });
}

/** Limits that stay are trusted only if the stored value can be decrypted with them: otherwise a new value would confirm altered ones. */
async function merge(keyring: Keyring, before: LockedSecret, { value, allowed_queues, allowed_hosts }: PatchSecret) {
  const isWhole = value !== undefined && allowed_queues !== undefined && allowed_hosts !== undefined;
  const stored = await openStored(keyring, before).catch((error: unknown) => {
    if (isWhole && error instanceof ProblemError) return null;
    throw error;
  });
  return {
    // Null only if there is a value.
    value: value ?? (stored as string),
    former: formerAfter(keyring, before, stored, value),
    allowed_queues: allowed_queues === undefined ? before.allowed_queues : allowed_queues,
    allowed_hosts: allowed_hosts === undefined ? before.allowed_hosts : allowed_hosts && normalizeHosts(allowed_hosts),
  };
}

/**
 * The former values after the secret got this value, or kept its own.
 *
 * @param stored the value that it has. Null: it cannot be decrypted
 */
function formerAfter(keyring: Keyring, before: LockedSecret, stored: string | null, value: string | undefined): Former {
  const { now } = before;
  if (stored === null) return { values: [], since: now };
  const former = formerOf(keyring, before);
  return value === undefined || value === stored ? former : replaced(former, stored, now);
}

function formerOf(keyring: Keyring, { former, former_since: since, now, ...stored }: LockedSecret): Former {
  try {
    return { values: former ? openFormer(keyring, stored, former) : [], since };
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return { values: [], since: now };
  }
}

async function openStored(keyring: Keyring, stored: StoredSecret): Promise<string> {
  await loadKey(keyring, stored.master_key_id);
  try {
    return openSecret(keyring, stored);
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    throw problem("INVALID_STATE", { state: "unreadable", allowed_from: ["readable"] }, { message: UNREADABLE });
  }
}

const UNREADABLE =
  "The secret cannot be decrypted, so its limits may have been altered. Give value, allowed_queues and allowed_hosts in one request.";
