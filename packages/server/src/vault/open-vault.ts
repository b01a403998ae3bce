import { type Config, type Connection, type Db, type EmitEvent, type Random, type Transactional, takeLock, tolerate } from "#kernel";
import { checkKeyring } from "./check-keyring.ts";
import { finishKeyFileRotation, finishKeyFileRotationLocked } from "./finish-key-file-rotation.ts";
import { Keyring } from "./keyring.ts";
import { VAULT_LOCK } from "./vault-store.ts";

export interface VaultOptions {
  readonly config: Config;
  readonly connection: Connection;
  readonly db: Transactional;
  readonly random: Random;
  readonly emit: EmitEvent;
  /** How many nodes are alive. */
  readonly countNodes: (db: Db) => Promise<number>;
}

/** The vault as a running node uses it. */
export interface OpenVault {
  readonly keyring: Keyring;
  /** Releases the vault's lock, once this node counts as alive: other nodes may start, and rotations begin. */
  releaseLock(): Promise<void>;
  /** Reads the keys again: a rotation has started or ended. */
  reloadKeys(): Promise<void>;
  /** Finishes a rotation, when it is over, in this node's key files. It waits for the vault's lock. */
  finishRotation(): Promise<void>;
  /** Looks for the vault's current key, and reports once when this node does not have it. */
  findKey(masterKeyId: string): Promise<void>;
}

/**
 * Opens the vault with the master key of the configuration. Until `releaseLock` no other node starts and no rotation begins, so that
 * none of them overlooks this node.
 *
 * @throws {VaultKeyError} when the key is not the vault's
 */
export async function openVault({ config, connection, db, random, emit, countNodes }: VaultOptions): Promise<OpenVault> {
  const releaseLock = await takeLock(connection, VAULT_LOCK);
  try {
    const keyring = await Keyring.open(config);
    await checkKeyring(db, keyring, random, countNodes);
    const tolerant = (finish: () => Promise<void>) => tolerate(finish, (error) => emit("key_file_update_failed", { error }));
    await tolerant(() => finishKeyFileRotation(db, keyring));
    const finishRotation = () => tolerant(() => finishKeyFileRotationLocked(db, keyring));
    return { keyring, releaseLock, finishRotation, ...keyFinderOf(keyring, emit) };
  } catch (error) {
    await releaseLock();
    throw error;
  }
}

function keyFinderOf(keyring: Keyring, emit: EmitEvent): Pick<OpenVault, "reloadKeys" | "findKey"> {
  let missing: string | null = null;
  const reloadKeys = () =>
    tolerate(
      () => keyring.reload(),
      (error) => emit("keyring_read_failed", { error }),
    );
  const findKey = async (id: string) => {
    await reloadKeys();
    const before = missing;
    missing = keyring.has(id) ? null : id;
    if (missing !== null && missing !== before) emit("master_key_not_found", { masterKeyId: id });
  };
  return { reloadKeys, findKey };
}
