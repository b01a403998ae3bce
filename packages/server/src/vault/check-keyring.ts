import { type Config, type Db, isUndefined, type Random, type Transactional } from "#kernel";
import { adoptMasterKey } from "./adopt-master-key.ts";
import { Keyring } from "./keyring.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { findVaultKey, listWrappingKeysAcrossWorkspaces } from "./vault-store.ts";

/**
 * Checks that this node's master keys open the vault, before the node serves. The very first start makes a key current: the given one,
 * otherwise a new one in the key file. Call it under the vault's lock only.
 *
 * @param countNodes returns how many nodes are alive: they and this node must be able to read each other's secrets
 * @throws {VaultKeyError} when a key is missing that wraps a secret, or that living nodes use
 */
export async function checkKeyring(
  database: Transactional,
  keyring: Keyring,
  random: Random,
  countNodes: (db: Db) => Promise<number>,
): Promise<void> {
  await database.transaction(async (tx) => {
    const current = await findVaultKey(tx);
    await ensureFits(tx, current, keyring, countNodes);
    await adoptMasterKey(tx, keyring, random);
  });
}

/**
 * Checks before an upgrade, and without the vault's lock, what `openVault` will check after it. It changes nothing. What the schema of the
 * older version does not have is left to `openVault`.
 *
 * @throws {VaultKeyError}
 */
export async function checkMasterKey(config: Config, db: Db, countNodes: (db: Db) => Promise<number>): Promise<void> {
  const keyring = await Keyring.open(config);
  try {
    await ensureFits(db, await findVaultKey(db), keyring, countNodes);
  } catch (error) {
    if (!isUndefined(error)) throw error;
  }
}

async function ensureFits(db: Db, current: string | null, keyring: Keyring, countNodes: (db: Db) => Promise<number>): Promise<void> {
  const shared = current !== null && (await countNodes(db)) > 0 ? [current] : [];
  const missing = [...shared, ...(await listWrappingKeysAcrossWorkspaces(db))].find((id) => !keyring.has(id));
  if (missing !== undefined) throw keyMissing(keyring, missing);
}

function keyMissing({ file, ids }: Keyring, missing: string): VaultKeyError {
  const given = ids.length === 0 ? "there is none" : `${ids.join(" and ")} ${ids.length === 1 ? "is" : "are"} given`;
  const place = file === null ? "TIDEMILL_MASTER_KEY" : `TIDEMILL_MASTER_KEY, or its file to ${file}`;
  return new VaultKeyError(
    `The vault needs the master key ${missing}, but ${given}. Put the key that fits into ${place}. If it is lost: tidemill vault give-up ${missing}`,
  );
}
