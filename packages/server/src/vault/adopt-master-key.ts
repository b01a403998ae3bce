import type { Db, Random } from "#kernel";
import type { Keyring } from "./keyring.ts";
import { changeVaultKey, findVaultKey } from "./vault-store.ts";

/**
 * Makes a key of this configuration the vault's, unless the vault's own is among them. Without any key, it creates one in the key file.
 * Call it under the vault's lock only.
 *
 * @returns the id of the vault's key
 */
export async function adoptMasterKey(tx: Db, keyring: Keyring, random: Random): Promise<string> {
  if (keyring.ids.length === 0) await keyring.makeKey(random);
  const current = await findVaultKey(tx);
  if (current !== null && keyring.has(current)) return current;
  const [first] = keyring.ids;
  if (first === undefined) throw new Error("The keyring is empty.");
  await changeVaultKey(tx, first);
  return first;
}
