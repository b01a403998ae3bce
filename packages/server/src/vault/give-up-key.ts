import { type Connection, type Db, type Random, type Transactional, takeLock } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import { adoptMasterKey } from "./adopt-master-key.ts";
import type { Keyring } from "./keyring.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { findVaultKey, giveUpSecretsAcrossWorkspaces, listWrappingKeysAcrossWorkspaces, VAULT_LOCK } from "./vault-store.ts";

export interface GiveUpOptions {
  readonly connection: Connection;
  readonly database: Transactional;
  readonly keyring: Keyring;
  readonly random: Random;
  /** How many nodes are alive. */
  readonly countNodes: (db: Db) => Promise<number>;
}

/** What was lost with a master key. */
export interface GivenUpKey {
  /** Id of the key that the vault has now. */
  readonly to: string;
  /** Secrets that cannot be decrypted any more. */
  readonly unreadable: readonly { readonly workspace: string; readonly name: string }[];
}

/**
 * Gives up a master key that is lost, so that nodes start again with another one: the given one, otherwise a new one in the key file. The
 * secrets that the lost key wraps stay, and cannot be decrypted until they get new values. The same is true of people's authenticators.
 *
 * @throws {VaultKeyError} when the key is there, is not needed, or nodes are alive that may have it; then nothing has changed
 */
export async function giveUpKey({ connection, database, keyring, random, countNodes }: GiveUpOptions, lost: string): Promise<GivenUpKey> {
  const releaseLock = await takeLock(connection, VAULT_LOCK);
  try {
    return await database.transaction(async (tx) => {
      if (keyring.has(lost)) throw new VaultKeyError(`The master key ${lost} is not lost: this configuration has it.`);
      const nodes = await countNodes(tx);
      if (nodes > 0) throw new VaultKeyError(`Nodes that are alive: ${nodes}. They may still have the key ${lost}. Stop them first.`);
      if (!(await listWrappingKeysAcrossWorkspaces(tx)).includes(lost)) throw new VaultKeyError(`Nothing needs the master key ${lost}.`);
      const current = await findVaultKey(tx);
      if (current !== null && current !== lost && !keyring.has(current))
        throw new VaultKeyError(`The vault's key is ${current}, and this configuration does not have it. Give it, or give it up first.`);
      const to = await adoptMasterKey(tx, keyring, random);
      const unreadable = await giveUpSecretsAcrossWorkspaces(tx, lost, to);
      return { to, unreadable: unreadable.map(({ workspace_id, name }) => ({ workspace: showWorkspaceId(workspace_id), name })) };
    });
  } finally {
    await releaseLock();
  }
}
