import { type Db, unavailable, type WorkspaceId } from "#kernel";
import { workspaceNotFound } from "#workspaces";
import type { Keyring } from "./keyring.ts";
import type { MasterKey } from "./master-key.ts";
import { lockVault } from "./store.ts";

/**
 * The key that new data keys are wrapped by, until the transaction ends: a rotation waits for it.
 *
 * @throws UNAVAILABLE when this node has not got it; NOT_FOUND when the workspace is gone
 */
export async function currentKey(tx: Db, keyring: Keyring, workspaceId: WorkspaceId): Promise<MasterKey> {
  const vault = await lockVault(tx, workspaceId);
  if (!vault) throw workspaceNotFound(workspaceId);
  // The master key was rotated, and word of it has not come here.
  if (!keyring.has(vault.master_key_id)) await keyring.reload();
  if (!keyring.has(vault.master_key_id)) throw unavailable("This node does not have the master key of the vault.");
  return keyring.get(vault.master_key_id);
}
