import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";

/** A log larger than this is moved to `<log>.1`. Bytes. */
const LARGEST_LOG = 8 * 1024 * 1024;

/** Writes a file in one piece, readable by its owner only. Replaces what stands there, and never follows a link. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
  await rename(draft, path);
}

/** Opens a log for appending, after putting an overlong one aside. Refuses a symbolic link (ELOOP). */
export async function openLog(path: string): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const handle = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if ((await handle.stat()).size <= LARGEST_LOG) return handle;
  await handle.close();
  await rename(path, `${path}.1`);
  return await openLog(path);
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
