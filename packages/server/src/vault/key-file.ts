import { constants } from "node:fs";
import { access, mkdir, open, realpath, rename } from "node:fs/promises";
import path from "node:path";
import { makeFile, syncPath, systemCode, unless } from "#kernel";
import { type MasterKey, readMasterKey, writeMasterKey } from "./master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";

/** Every cluster directory of PostgreSQL has this file. */
const CLUSTER_FILE = "PG_VERSION";
/** No encoding of a key is longer. */
const MAX_BYTES = 1_024;

/** The file with the next key, while a rotation runs. */
export const nextKeyFile = (file: string): string => `${file}.next`;

/** The file that keeps a key under its id, even after a rotation: older backups need it. */
export const keyFileById = (file: string, id: string): string => `${file}.${id}`;

/**
 * Reads the key of a file; null when there is no such file.
 *
 * @throws {VaultKeyError} when it cannot be read, other users may read it, or it holds no key
 */
export async function readKeyFile(file: string): Promise<MasterKey | null> {
  const text = await orKeyError(file, "read", () => unless("ENOENT", null, readPrivate(file)));
  const key = text === null ? null : readMasterKey(text.trim());
  if (text !== null && key === null) throw keyError(file, "does not hold a key of 32 bytes in base64 or hex");
  return key;
}

/** The keys of a key file and of its `.next`; null where there is no such file. */
export interface KeyFiles {
  readonly present: MasterKey | null;
  readonly next: MasterKey | null;
}

/**
 * Reads both files. `.next` is read first, so that a key that is promoted in the meantime is found in its new place.
 *
 * @throws {VaultKeyError}
 */
export async function readKeyFiles(file: string): Promise<KeyFiles> {
  const next = await readKeyFile(nextKeyFile(file));
  return { present: await readKeyFile(file), next };
}

/**
 * Creates a file with that key, and its directory when that is missing; false when the file exists.
 *
 * @throws {VaultKeyError} when it cannot be written
 */
export async function makeKeyFile(file: string, key: MasterKey): Promise<boolean> {
  return orKeyError(file, "written", async () => {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    return makeFile(file, `${writeMasterKey(key)}\n`);
  });
}

/**
 * Makes the next key the present one, if the files still hold these two. Call it under the vault's lock only. A write to a slow disk can
 * outlast that lock. So each key is first stored under its id: then no rename can destroy the only copy of a key. It can be interrupted at
 * any point and run again.
 *
 * @throws {VaultKeyError}
 */
export async function promoteNextFile(file: string, old: MasterKey, next: MasterKey): Promise<void> {
  for (const key of [old, next]) await keepKey(file, key);
  const found = await readKeyFiles(file);
  if (found.present?.id !== old.id || found.next?.id !== next.id) return;
  await orKeyError(file, "replaced", async () => {
    await rename(nextKeyFile(file), file);
    await syncPath(path.dirname(file));
  });
}

async function keepKey(file: string, key: MasterKey): Promise<void> {
  const kept = keyFileById(file, key.id);
  await makeKeyFile(kept, key);
  if ((await readKeyFile(kept))?.id !== key.id) throw keyError(kept, "holds another key than its name says");
}

/**
 * Checks that the file is not in the data directory of a PostgreSQL cluster, ours or another: a copy of the data, such as a backup,
 * must not contain the key.
 *
 * @param cluster the data directory of the embedded cluster, which need not exist
 * @throws {VaultKeyError}
 */
export async function checkOutsideCluster(file: string, cluster: string): Promise<void> {
  const [first] = path.relative(cluster, file).split(path.sep);
  if (first === ".." && !(await isInCluster(await realDirectory(path.dirname(file))))) return;
  throw new VaultKeyError(`The master key file ${file} would be in the data that it protects. Name another in TIDEMILL_MASTER_KEY_FILE.`);
}

async function readPrivate(file: string): Promise<string> {
  // Non-blocking: a pipe without a writer would block.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw keyError(file, "is not a regular file");
    const shared = found.mode & 0o077;
    if (shared !== 0) throw keyError(file, `may be used by others (mode ${(found.mode & 0o777).toString(8)}): chmod 600 ${file}`);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAX_BYTES) });
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function isInCluster(directory: string): Promise<boolean> {
  const isCluster = await access(path.join(directory, CLUSTER_FILE)).then(
    () => true,
    () => false,
  );
  return isCluster || (directory !== path.dirname(directory) && (await isInCluster(path.dirname(directory))));
}

/** The real path of a directory, or of its nearest parent that exists. */
const realDirectory = async (directory: string): Promise<string> =>
  (await unless("ENOENT", null, realpath(directory))) ?? realDirectory(path.dirname(directory));

async function orKeyError<Result>(file: string, done: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof VaultKeyError ? error : keyError(file, `cannot be ${done} (${systemCode(error)})`, error);
  }
}

const keyError = (file: string, why: string, cause?: unknown): VaultKeyError =>
  new VaultKeyError(`The master key file ${file} ${why}.`, { cause });
