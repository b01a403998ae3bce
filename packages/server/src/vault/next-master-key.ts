import type { Random } from "#kernel";
import { makeKeyFile, nextOf, readKeyFiles } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";

/**
 * The id of the key that a rotation leads to: the last of TIDEMILL_MASTER_KEY, or the one of the key file's `.next`, which is made
 * when it is missing. The ring has it then. It is the vault's current key where a rotation was broken off late. Under the vault's
 * lock only.
 *
 * @throws {VaultKeyError} when there is none
 */
export async function nextMasterKey(keyring: Keyring, current: string, random: Random): Promise<string> {
  const id = keyring.file === null ? lastGiven(keyring) : await nextInFile(keyring.file, current, random);
  await requireKey(keyring, id);
  return id;
}

/** @throws {VaultKeyError} when neither the ring has that key, with which the vault is locked, nor its files */
export async function requireKey(keyring: Keyring, id: string): Promise<void> {
  await keyring.reload();
  if (!keyring.has(id)) throw keyring.file !== null && keyring.ids.length === 0 ? noFile(keyring.file) : misfit(id, keyring.ids);
}

function lastGiven({ ids: [old, last, ...more] }: Keyring): string {
  if (old !== undefined && last !== undefined && more.length === 0) return last;
  throw new VaultKeyError("Give the old key and the new one to every node and to this command: TIDEMILL_MASTER_KEY=<old>,<new>.");
}

async function nextInFile(file: string, current: string, random: Random): Promise<string> {
  const { present, next } = await readKeyFiles(file);
  if (!present) throw noFile(file);
  if (present.id === next?.id) throw new VaultKeyError(`${nextOf(file)} holds the same key as ${file}. Remove it, and run this again.`);
  const ids = next ? [present.id, next.id] : [present.id];
  // What the ring remembers does not count: the files must open the vault when no process does.
  if (!ids.includes(current)) throw misfit(current, ids);
  return (next ?? (await makeNext(file, random))).id;
}

async function makeNext(file: string, random: Random): Promise<MasterKey> {
  const made = makeMasterKey(random);
  if (await makeKeyFile(nextOf(file), made)) return made;
  throw new VaultKeyError(`Another has just made ${nextOf(file)}. Run this again.`);
}

const noFile = (file: string): VaultKeyError =>
  new VaultKeyError(`There is no key file ${file}. Run this where a node's is, or name it in TIDEMILL_MASTER_KEY_FILE.`);

const misfit = (current: string, ids: readonly string[]): VaultKeyError =>
  new VaultKeyError(`The vault is locked with the master key ${current}, which is not among ${ids.join(", ")}.`);
