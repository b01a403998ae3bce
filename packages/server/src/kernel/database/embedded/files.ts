import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { unless } from "./error.ts";

/** A log larger than this is moved to `<log>.1`. Bytes. */
const LARGEST_LOG = 8 * 1024 * 1024;

/** Writes a file in one piece, readable by its owner only. Replaces what stands there, and never follows a link. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  const handle = await create(draft, constants.O_WRONLY);
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
  await rename(draft, path);
}

/** Opens a log for appending, after putting an overlong one aside. Refuses a symbolic link (ELOOP). */
export async function openLog(path: string): Promise<FileHandle> {
  const append = constants.O_WRONLY | constants.O_APPEND;
  const handle = await unless("ENOENT", null, open(path, append | constants.O_NOFOLLOW));
  if (handle === null) return await create(path, append);
  if ((await handle.stat()).size <= LARGEST_LOG) return handle;
  await handle.close();
  await rename(path, `${path}.1`);
  return await create(path, append);
}

/** A new file, which belongs to whom its directory belongs: what root leaves in a user's directory, the user can use. */
async function create(path: string, flags: number): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600);
  const { uid, gid } = await stat(dirname(path));
  if (uid !== process.geteuid?.()) await handle.chown(uid, gid);
  return handle;
}

/** Makes a file, or the names in a directory, durable. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
