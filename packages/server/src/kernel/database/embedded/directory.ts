import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, lstat, mkdir, open, realpath, rename, rmdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { doneUnless, isRefusal, systemCode, unless } from "../../system-error.ts";
import type { Account } from "./account.ts";
import { EmbeddedPostgresError } from "./error.ts";

export const isRoot = (): boolean => process.geteuid?.() === 0;

/**
 * Creates the data directory if it is missing, and returns its real path. If root creates it, other users may pass through it, so that
 * PostgreSQL's account can reach the cluster inside. Fails with the system's error when it is not writable.
 */
export async function openDataDir(dataDir: string): Promise<string> {
  const path = resolve(dataDir);
  if ((await unless("ENOENT", null, stat(path))) === null) await makeWithMode(path, isRoot() ? 0o711 : 0o700);
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return await realpath(path);
}

/** Explains a system error that means that the data directory is not writable. Returns any other error unchanged. */
export function explainRefusal(dataDir: string, error: unknown): unknown {
  if (!isRefusal(error) && !["ENOTDIR", "EEXIST"].includes(systemCode(error))) return error;
  const { path = dataDir } = error as { path?: string };
  const message = `The data directory ${dataDir} cannot be written (${systemCode(error)} for ${path}). Set TIDEMILL_DATA_DIR to another.`;
  return new EmbeddedPostgresError("DATA_DIR_NOT_WRITABLE", message, { cause: error });
}

/** Creates a directory that has its final mode from the beginning, whatever the umask. Other processes check the mode. */
async function makeWithMode(path: string, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  await mkdir(draft);
  await chmod(draft, mode);
  try {
    await rename(draft, path);
  } catch (error) {
    await rmdir(draft);
    if (systemCode(error) !== "ENOTEMPTY") throw error;
  }
}

/**
 * Ensures that a directory exists, belongs to `owner` (null: the current user) and has no more permissions than `mode`. All checks and
 * changes use one handle, so that no other process can swap in another directory or a link in between.
 *
 * @throws {EmbeddedPostgresError} UNSAFE_DIRECTORY, or NO_UNPRIVILEGED_USER when this root may not change the owner of files
 */
export async function ensureDirectory(path: string, owner: Account | null, mode: number): Promise<void> {
  const made = await doneUnless("EEXIST", mkdir(path, { mode }));
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw new EmbeddedPostgresError("UNSAFE_DIRECTORY", `${path} is not a real directory. Remove it.`, { cause: error });
  });
  try {
    const found = await handle.stat();
    // It belongs to root if an earlier start ended between creating it and changing its owner.
    if (made || (owner && found.uid === 0)) {
      if (owner) await handle.chown(owner.uid, owner.gid);
      await handle.chmod(mode);
    } else if (found.uid !== (owner?.uid ?? process.geteuid?.()) || (found.mode & 0o777 & ~mode) !== 0) {
      throw new EmbeddedPostgresError("UNSAFE_DIRECTORY", `${path} belongs to another user, or other users can access it. Remove it.`);
    }
  } catch (error) {
    if (systemCode(error) !== "EPERM" || !owner) throw error;
    throw cannotSwitchUser(owner, error);
  } finally {
    await handle.close();
  }
}

export const cannotSwitchUser = (account: Account, cause: unknown): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    "NO_UNPRIVILEGED_USER",
    `PostgreSQL cannot run as root, and this root may not switch to user ${account.name}. Start Tidemill as an ordinary user.`,
    { cause },
  );

/** The first directory on the way to `path`, or `path` itself, that `account` cannot enter. Null when it can enter all of them. */
export async function findBarrier(account: Account, path: string): Promise<string | null> {
  for (const step of stepsTo(path)) {
    if (!permits(account, await stat(step), 0o1)) return step;
  }
  return null;
}

/** Whether only root can replace `path`: no step on the way belongs to another user, or is writable by one without a sticky bit. */
export async function isRootOnly(path: string): Promise<boolean> {
  for (const step of stepsTo(path)) {
    const { uid, mode } = await lstat(step);
    const isSticky = (mode & 0o1000) !== 0;
    if (uid !== 0 || ((mode & 0o022) !== 0 && !isSticky)) return false;
  }
  return true;
}

/** Checks only the mode bits. `rights` is one octal digit of a mode. */
export function permits(account: Account, { uid, gid, mode }: { uid: number; gid: number; mode: number }, rights: number): boolean {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & rights) === rights;
}

const stepsTo = (path: string): string[] => (dirname(path) === path ? [path] : [...stepsTo(dirname(path)), path]);
