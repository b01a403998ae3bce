import type { Random } from "#kernel";
import { makeKeyFile, nextKeyFile, readKeyFiles } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { type MasterKey, makeMasterKey } from "./master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";

/**
 * The id of the key that a rotation makes current: the last of TIDEMILL_MASTER_KEY, or the one of the key file's `.next`, which is created
 * when it is missing. Afterwards the keyring has it. After a rotation that was interrupted late, it is already current. Call this under the
 * vault's lock only.
 *
 * @throws {VaultKeyError} when there is none
 */
export async function nextMasterKey(keyring: Keyring, current: string, random: Random): Promise<string> {
  const id = keyring.file === null ? lastGiven(keyring) : await nextInFile(keyring.file, current, random);
  await requireKey(keyring, id);
  return id;
}

/** @throws {VaultKeyError} when neither the keyring nor its files have the vault's current key */
export async function requireKey(keyring: Keyring, id: string): Promise<void> {
  await keyring.reload();
  if (!keyring.has(id)) throw keyring.file !== null && keyring.ids.length === 0 ? fileMissing(keyring.file) : keyMissing(id, keyring.ids);
}

function lastGiven({ ids: [old, last, ...more] }: Keyring): string {
  if (old !== undefined && last !== undefined && more.length === 0) return last;
  throw new VaultKeyError("Give the old key and the new one to every node and to this command: TIDEMILL_MASTER_KEY=<old>,<new>.");
}

async function nextInFile(file: string, current: string, random: Random): Promise<string> {
  const { present, next } = await readKeyFiles(file);
  if (!present) throw fileMissing(file);
  if (present.id === next?.id)
    throw new VaultKeyError(`${nextKeyFile(file)} holds the same key as ${file}. Remove it, and run this again.`);
  const ids = next ? [present.id, next.id] : [present.id];
  // Keys that only this process remembers do not count: after a restart the files alone must be enough.
  if (!ids.includes(current)) throw keyMissing(current, ids);
  return (next ?? (await makeNext(file, random))).id;
}

async function makeNext(file: string, random: Random): Promise<MasterKey> {
  const made = makeMasterKey(random);
  if (await makeKeyFile(nextKeyFile(file), made)) return made;
  throw new VaultKeyError(`Another process has just created ${nextKeyFile(file)}. Run this again.`);
}

const fileMissing = (file: string): VaultKeyError =>
  new VaultKeyError(`There is no key file ${file}. Run this where a node's is, or name it in TIDEMILL_MASTER_KEY_FILE.`);

const keyMissing = (current: string, ids: readonly string[]): VaultKeyError =>
  new VaultKeyError(`The vault is locked with the master key ${current}, which is not among ${ids.join(", ")}.`);
