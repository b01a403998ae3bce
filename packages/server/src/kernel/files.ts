import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, open, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { doneUnless } from "./system-error.ts";

/** Writes a file atomically, readable by its owner only. Replaces an existing file, and never follows a link. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await rename(await writeDraft(path, text), path);
}

/** Creates a file atomically and durably, readable by its owner only. Returns false when the path already exists. */
export async function makeFile(path: string, text: string): Promise<boolean> {
  const draft = await writeDraft(path, text);
  try {
    await syncPath(draft);
    return await doneUnless("EEXIST", link(draft, path));
  } finally {
    await unlink(draft);
    await syncPath(dirname(path));
  }
}

/** Creates a file that belongs to the owner of its directory, so that users can use what root creates in their directory. */
export async function openNew(path: string, flags: number): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600);
  const { uid, gid } = await stat(dirname(path));
  if (uid !== process.geteuid?.()) await handle.chown(uid, gid);
  return handle;
}

/** Makes the content of a file, or the entries of a directory, durable. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeDraft(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomUUID()}`;
  const handle = await openNew(draft, constants.O_WRONLY);
  try {
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
  return draft;
}
