import { type Db, unavailable, type WorkspaceId } from "#kernel";
import { workspaceNotFound } from "#workspaces";
import type { Keyring } from "./keyring.ts";
import type { MasterKey } from "./master-key.ts";
import { lockVault } from "./store.ts";

/**
 * The master key that wraps new data keys. A rotation waits until the transaction ends.
 *
 * @throws UNAVAILABLE when this node does not have it; NOT_FOUND when the workspace is gone
 */
export async function currentKey(tx: Db, keyring: Keyring, workspaceId: WorkspaceId): Promise<MasterKey> {
  const vault = await lockVault(tx, workspaceId);
  if (!vault) throw workspaceNotFound(workspaceId);
  await loadKey(keyring, vault.master_key_id);
  return keyring.get(vault.master_key_id);
}

/**
 * Reads the master keys again if that one is not known: it may have been rotated without this node having been notified.
 *
 * @throws UNAVAILABLE when this node does not have it
 */
export async function loadKey(keyring: Keyring, masterKeyId: string): Promise<void> {
  if (!keyring.has(masterKeyId)) await keyring.reload();
  if (!keyring.has(masterKeyId)) throw unavailable("This node does not have the master key of the vault.");
}
