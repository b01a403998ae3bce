import { type Config, type Connection, type Db, type EmitEvent, type Random, type Transactional, takeLock, tolerate } from "#kernel";
import { fitKeyring, settleKeyFile } from "./fit.ts";
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

/** A node's way into the vault. */
export interface OpenVault {
  readonly keyring: Keyring;
  /** Lets others start, and rotations begin, once this node counts as alive. */
  leave(): Promise<void>;
  /** Looks at the keys again: a rotation is under way, or over. */
  learn(): Promise<void>;
}

/**
 * Opens the vault with the master key of the configuration. Until `leave` no other node starts and no rotation begins, so that
 * none of them misses this one.
 *
 * @throws {VaultKeyError} when the key does not fit
 */
export async function openVault({ config, connection, db, random, emit, countNodes }: VaultOptions): Promise<OpenVault> {
  const leave = await takeLock(connection, VAULT_LOCK);
  const settle = (keyring: Keyring) =>
    tolerate(
      () => settleKeyFile(db, keyring),
      (error) => emit("key_file_unsettled", { error }),
    );
  try {
    const keyring = await Keyring.open(config);
    await fitKeyring(db, keyring, random, countNodes);
    await settle(keyring);
    const reload = () =>
      tolerate(
        () => keyring.reload(),
        (error) => emit("keyring_unreadable", { error }),
      );
    return { keyring, leave, learn: () => reload().then(() => settle(keyring)) };
  } catch (error) {
    await leave();
    throw error;
  }
}
