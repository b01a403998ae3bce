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
  // The key may have been rotated without this node having been notified.
  if (!keyring.has(vault.master_key_id)) await keyring.reload();
  if (!keyring.has(vault.master_key_id)) throw unavailable("This node does not have the master key of the vault.");
  return keyring.get(vault.master_key_id);
}
