import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, lstat, mkdir, open, realpath, rename, rmdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { doneUnless, isRefusal, systemCode, unless } from "../../system-error.ts";
import type { Account } from "./account.ts";
import { EmbeddedPostgresError } from "./error.ts";

export const isRoot = (): boolean => process.geteuid?.() === 0;

/**
 * Makes the data directory when it is missing, and answers its real path. As root it may be passed through by others, so
 * that the account PostgreSQL runs as gets to the cluster in it. Fails as the system does when it cannot be written.
 */
export async function openDataDir(dataDir: string): Promise<string> {
  const path = resolve(dataDir);
  if ((await unless("ENOENT", null, stat(path))) === null) await makeAtOnce(path, isRoot() ? 0o711 : 0o700);
  await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return await realpath(path);
}

/** What an error is for the user when it is the system's refusal to let us write the data directory; else the error itself. */
export function explainRefusal(dataDir: string, error: unknown): unknown {
  if (!isRefusal(error) && !["ENOTDIR", "EEXIST"].includes(systemCode(error))) return error;
  const { path = dataDir } = error as { path?: string };
  const message = `The data directory ${dataDir} cannot be written (${systemCode(error)} for ${path}). Name another in TIDEMILL_DATA_DIR.`;
  return new EmbeddedPostgresError("DATA_DIR_NOT_WRITABLE", message, { cause: error });
}

/** With its final mode from the first moment, whatever the umask: nobody may judge it by another. */
async function makeAtOnce(path: string, mode: number): Promise<void> {
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
 * Makes sure of a directory that belongs to `owner` (null: to us) and is no more open than `mode`. All looks and changes go
 * through one handle, so that nobody can slip another directory or a link in between.
 *
 * @throws {EmbeddedPostgresError} UNSAFE_DIRECTORY, NO_UNPRIVILEGED_USER when root here may not give files away
 */
export async function ensureDirectory(path: string, owner: Account | null, mode: number): Promise<void> {
  const made = await doneUnless("EEXIST", mkdir(path, { mode }));
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw new EmbeddedPostgresError("UNSAFE_DIRECTORY", `${path} is no directory of its own. Remove it.`, { cause: error });
  });
  try {
    const found = await handle.stat();
    // Root's: an earlier start ended between making it and giving it away.
    if (made || (owner && found.uid === 0)) {
      if (owner) await handle.chown(owner.uid, owner.gid);
      await handle.chmod(mode);
    } else if (found.uid !== (owner?.uid ?? process.geteuid?.()) || (found.mode & 0o777 & ~mode) !== 0) {
      throw new EmbeddedPostgresError("UNSAFE_DIRECTORY", `${path} belongs to somebody else or is open to others. Remove it.`);
    }
  } catch (error) {
    if (systemCode(error) !== "EPERM" || !owner) throw error;
    throw mayNotBecome(owner, error);
  } finally {
    await handle.close();
  }
}

export const mayNotBecome = (account: Account, cause: unknown): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    "NO_UNPRIVILEGED_USER",
    `PostgreSQL does not run as root, and this root may not act as user ${account.name}. Start Tidemill as an ordinary user.`,
    { cause },
  );

/** The first directory on the way to `path`, or `path` itself, that `account` cannot enter; null when it reaches `path`. */
export async function whatBars(account: Account, path: string): Promise<string | null> {
  for (const step of stepsTo(path)) {
    if (!permits(account, await stat(step), 0o1)) return step;
  }
  return null;
}

/** Whether only root can change what stands at `path`: no step on the way belongs to, or is writable by, anybody else. */
export async function isRootsAlone(path: string): Promise<boolean> {
  for (const step of stepsTo(path)) {
    const { uid, mode } = await lstat(step);
    const isSticky = (mode & 0o1000) !== 0;
    if (uid !== 0 || ((mode & 0o022) !== 0 && !isSticky)) return false;
  }
  return true;
}

/** By the mode bits alone; `rights` as in one octal digit of a mode. */
export function permits(account: Account, { uid, gid, mode }: { uid: number; gid: number; mode: number }, rights: number): boolean {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & rights) === rights;
}

const stepsTo = (path: string): string[] => (dirname(path) === path ? [path] : [...stepsTo(dirname(path)), path]);
