import type { Db, Transactional } from "#kernel";
import { promoteNextFile, readKeyFiles } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { findVaultKey, listWrappingKeysAcrossWorkspaces, takeVaultLock } from "./vault-store.ts";

/**
 * Finishes a rotation in the key files, once it is over in the database: the next key replaces the one that wraps no secret any more.
 * Call it under the vault's lock only.
 */
export async function finishKeyFileRotation(db: Db, { file }: Keyring): Promise<void> {
  if (file === null) return;
  const { present, next } = await readKeyFiles(file);
  if (!present || !next || present.id === next.id || next.id !== (await findVaultKey(db))) return;
  const wrapping = await listWrappingKeysAcrossWorkspaces(db);
  if (wrapping.every((id) => id === next.id)) await promoteNextFile(file, present, next);
}

/** Finishes a rotation in the key files under the vault's lock. */
export const finishKeyFileRotationLocked = (database: Transactional, keyring: Keyring): Promise<void> =>
  database.transaction(async (tx) => {
    await takeVaultLock(tx);
    await finishKeyFileRotation(tx, keyring);
  });
