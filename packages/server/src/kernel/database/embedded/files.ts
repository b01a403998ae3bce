import { constants } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { openNew } from "../../files.ts";
import { unless } from "../../system-error.ts";

/** A log larger than this is moved to `<log>.1`. Bytes. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;

/** Opens a log for appending, and rotates it first if it is too large. Refuses a symbolic link (ELOOP). */
export async function openLog(path: string): Promise<FileHandle> {
  const append = constants.O_WRONLY | constants.O_APPEND;
  const handle = await unless("ENOENT", null, open(path, append | constants.O_NOFOLLOW));
  if (handle === null) return await openNew(path, append);
  if ((await handle.stat()).size <= MAX_LOG_BYTES) return handle;
  await handle.close();
  await rename(path, `${path}.1`);
  return await openNew(path, append);
}
