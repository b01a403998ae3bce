import type { Db, Random, Transactional } from "#kernel";
import { promoteNextFile, readKeyFiles } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { changeVaultKey, findVaultKey, holdVaultLock, listWrappingKeysAcrossWorkspaces } from "./vault-store.ts";

/**
 * Sees that this node's master keys open the vault, before the node serves. The first start of all locks it: with the key that is
 * given, or else with a new one, which is put into the key file. Under the vault's lock only.
 *
 * @param countNodes how many nodes are alive: what they write must be readable here, and the other way round
 * @throws {VaultKeyError} when a key is missing that a secret is wrapped by, or that nodes that are alive use
 */
export async function fitKeyring(
  database: Transactional,
  keyring: Keyring,
  random: Random,
  countNodes: (db: Db) => Promise<number>,
): Promise<void> {
  await database.transaction(async (tx) => {
    const current = await findVaultKey(tx);
    const shared = current !== null && (await countNodes(tx)) > 0 ? [current] : [];
    const missing = [...shared, ...(await listWrappingKeysAcrossWorkspaces(tx))].find((id) => !keyring.has(id));
    if (missing !== undefined) throw misfit(keyring, missing);
    if (keyring.ids.length === 0) await keyring.makeKey(random);
    const [first] = keyring.ids;
    if (first !== undefined && (current === null || !keyring.has(current))) await changeVaultKey(tx, first);
  });
}

/**
 * Ends what a rotation does to the key files, once it is over in the database: the next key takes the place of the one that
 * nothing is wrapped by any more. Under the vault's lock only.
 */
export async function settleKeyFile(db: Db, { file }: Keyring): Promise<void> {
  if (file === null) return;
  const { present, next } = await readKeyFiles(file);
  if (!present || !next || present.id === next.id || next.id !== (await findVaultKey(db))) return;
  const wrapping = await listWrappingKeysAcrossWorkspaces(db);
  if (wrapping.every((id) => id === next.id)) await promoteNextFile(file, present, next);
}

/** Takes the vault's lock, and settles the key files under it. */
export const lockAndSettleKeyFile = (database: Transactional, keyring: Keyring): Promise<void> =>
  database.transaction(async (tx) => {
    await holdVaultLock(tx);
    await settleKeyFile(tx, keyring);
  });

function misfit({ file, ids }: Keyring, missing: string): VaultKeyError {
  const had = ids.length === 0 ? "there is none" : `${ids.join(" and ")} ${ids.length === 1 ? "is" : "are"} given`;
  const place = file === null ? "TIDEMILL_MASTER_KEY" : `TIDEMILL_MASTER_KEY, or its file to ${file}`;
  return new VaultKeyError(`The vault needs the master key ${missing}, but ${had}. Put the key that fits into ${place}.`);
}
