import type { Random } from "#kernel";
import { makeKeyFile, nextOf, readKeyFile } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";

/**
 * The id of the key that a rotation leads to: the last of TIDEMILL_MASTER_KEY, or the one of the key file's `.next`, which is made
 * when it is missing. The ring has it then. It is the vault's current key where a rotation was broken off late.
 *
 * @throws {VaultKeyError} when there is none
 */
export async function nextMasterKey(keyring: Keyring, current: string, random: Random): Promise<string> {
  const id = keyring.file === null ? lastGiven(keyring) : await nextInFile(keyring.file, current, random);
  await keyring.reload();
  if (keyring.has(current) && keyring.has(id)) return id;
  throw new VaultKeyError(`The vault is locked with the master key ${current}, which is not among ${keyring.ids.join(", ")}.`);
}

function lastGiven({ ids: [old, last, ...more] }: Keyring): string {
  if (old !== undefined && last !== undefined && more.length === 0) return last;
  throw new VaultKeyError("Give the old key and the new one to every node and to this command: TIDEMILL_MASTER_KEY=<old>,<new>.");
}

async function nextInFile(file: string, current: string, random: Random): Promise<string> {
  const key = await readKeyFile(file);
  if (!key) throw new VaultKeyError(`There is no key file ${file}. Run this where a node's is, or name it in TIDEMILL_MASTER_KEY_FILE.`);
  const next = (await readKeyFile(nextOf(file))) ?? (key.id === current ? await makeNext(file, random) : null);
  if (next?.id === key.id) throw new VaultKeyError(`${nextOf(file)} holds the same key as ${file}. Remove it, and run this again.`);
  return next?.id ?? key.id;
}

async function makeNext(file: string, random: Random): Promise<MasterKey | null> {
  await makeKeyFile(nextOf(file), makeMasterKey(random));
  return readKeyFile(nextOf(file));
}
