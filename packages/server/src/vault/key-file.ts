import { constants } from "node:fs";
import { access, mkdir, open, realpath, rename } from "node:fs/promises";
import path from "node:path";
import { makeFile, syncPath, systemCode, unless } from "#kernel";
import { type MasterKey, readMasterKey, writeMasterKey } from "./master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";

/** What a cluster of PostgreSQL has in its directory. */
const CLUSTER_MARK = "PG_VERSION";
/** More than any spelling of a key takes. */
const MOST_BYTES = 1_024;

/** Where the key of a rotation that is under way waits. */
export const nextOf = (file: string): string => `${file}.next`;

/** Where a key is kept under its id: those that another took the place of too, for backups from before need them. */
export const keptAs = (file: string, id: string): string => `${file}.${id}`;

/**
 * The key of a file; null when there is no such file.
 *
 * @throws {VaultKeyError} when it cannot be read, others may read it, or it holds no key
 */
export async function readKeyFile(file: string): Promise<MasterKey | null> {
  const text = await orUnusable(file, "read", () => unless("ENOENT", null, readPrivate(file)));
  const key = text === null ? null : readMasterKey(text.trim());
  if (text !== null && key === null) throw unusable(file, "holds no key: that is 32 bytes in base64 or hex");
  return key;
}

/** The keys of a key file and of its `.next`; null where there is no such file. */
export interface KeyFiles {
  readonly present: MasterKey | null;
  readonly next: MasterKey | null;
}

/**
 * Reads both files. What takes the other's place meanwhile is seen in its new one, for `.next` is read first.
 *
 * @throws {VaultKeyError}
 */
export async function readKeyFiles(file: string): Promise<KeyFiles> {
  const next = await readKeyFile(nextOf(file));
  return { present: await readKeyFile(file), next };
}

/**
 * Makes a file with that key, and its directory when that is missing; false when there is such a file already.
 *
 * @throws {VaultKeyError} when it cannot be written
 */
export async function makeKeyFile(file: string, key: MasterKey): Promise<boolean> {
  return orUnusable(file, "written", async () => {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    return makeFile(file, `${writeMasterKey(key)}\n`);
  });
}

/**
 * Puts the next key in the place of the present one, if they are still those. Under the vault's lock only; but that is lost when the
 * disk takes its time, so every key is kept under its id before it can come to a place where another may be put over it. Whenever
 * this is broken off, it can be done again.
 *
 * @throws {VaultKeyError}
 */
export async function promoteNextFile(file: string, old: MasterKey, next: MasterKey): Promise<void> {
  for (const key of [old, next]) await keepKey(file, key);
  const found = await readKeyFiles(file);
  if (found.present?.id !== old.id || found.next?.id !== next.id) return;
  await orUnusable(file, "replaced", async () => {
    await rename(nextOf(file), file);
    await syncPath(path.dirname(file));
  });
}

async function keepKey(file: string, key: MasterKey): Promise<void> {
  const kept = keptAs(file, key.id);
  await makeKeyFile(kept, key);
  if ((await readKeyFile(kept))?.id !== key.id) throw unusable(kept, "holds another key than its name says");
}

/**
 * Refuses a file that would lie in the data of a PostgreSQL, ours or another: whoever takes those, for a backup say, must not take
 * the key with them.
 *
 * @param cluster where ours has its data, or would have
 * @throws {VaultKeyError}
 */
export async function refuseAmongData(file: string, cluster: string): Promise<void> {
  const [first] = path.relative(cluster, file).split(path.sep);
  if (first === ".." && !(await isInCluster(await realDirectory(path.dirname(file))))) return;
  throw new VaultKeyError(`The master key file ${file} would lie in the data that it protects. Name another in TIDEMILL_MASTER_KEY_FILE.`);
}

async function readPrivate(file: string): Promise<string> {
  // Not held up by a pipe that nobody writes to.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw unusable(file, "is no regular file");
    const shared = found.mode & 0o077;
    if (shared !== 0) throw unusable(file, `may be used by others (mode ${(found.mode & 0o777).toString(8)}): chmod 600 ${file}`);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MOST_BYTES) });
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function isInCluster(directory: string): Promise<boolean> {
  const isCluster = await access(path.join(directory, CLUSTER_MARK)).then(
    () => true,
    () => false,
  );
  return isCluster || (directory !== path.dirname(directory) && (await isInCluster(path.dirname(directory))));
}

/** A directory without links on the way; of one that is not there, the nearest around it that is. */
const realDirectory = async (directory: string): Promise<string> =>
  (await unless("ENOENT", null, realpath(directory))) ?? realDirectory(path.dirname(directory));

async function orUnusable<Result>(file: string, done: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof VaultKeyError ? error : unusable(file, `cannot be ${done} (${systemCode(error)})`, error);
  }
}

const unusable = (file: string, why: string, cause?: unknown): VaultKeyError =>
  new VaultKeyError(`The master key file ${file} ${why}.`, { cause });
