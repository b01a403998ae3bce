import { type Config, type Connection, type Db, type EmitEvent, type Random, type Transactional, takeLock, tolerate } from "#kernel";
import { fitKeyring, lockAndSettleKeyFile, settleKeyFile } from "./fit.ts";
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
  /** Ends what a rotation that is over does to this node's key files; whoever has the vault's lock is waited for. */
  settle(): Promise<void>;
  /** Looks for the key that the vault is locked with; tells once when it is not found. */
  seek(masterKeyId: string): Promise<void>;
}

/**
 * Opens the vault with the master key of the configuration. Until `leave` no other node starts and no rotation begins, so that
 * none of them misses this one.
 *
 * @throws {VaultKeyError} when the key does not fit
 */
export async function openVault({ config, connection, db, random, emit, countNodes }: VaultOptions): Promise<OpenVault> {
  const leave = await takeLock(connection, VAULT_LOCK);
  try {
    const keyring = await Keyring.open(config);
    await fitKeyring(db, keyring, random, countNodes);
    const settling = (settle: () => Promise<void>) => tolerate(settle, (error) => emit("key_file_update_failed", { error }));
    await settling(() => settleKeyFile(db, keyring));
    return { keyring, leave, settle: () => settling(() => lockAndSettleKeyFile(db, keyring)), ...lookingAt(keyring, emit) };
  } catch (error) {
    await leave();
    throw error;
  }
}

function lookingAt(keyring: Keyring, emit: EmitEvent): Pick<OpenVault, "learn" | "seek"> {
  let missing: string | null = null;
  const learn = () =>
    tolerate(
      () => keyring.reload(),
      (error) => emit("keyring_read_failed", { error }),
    );
  const seek = async (id: string) => {
    await learn();
    const before = missing;
    missing = keyring.has(id) ? null : id;
    if (missing !== null && missing !== before) emit("master_key_not_found", { masterKeyId: id });
  };
  return { learn, seek };
}
